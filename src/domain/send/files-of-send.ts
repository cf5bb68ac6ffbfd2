import type { Source } from "../receive/filed-mails.ts";
import type { ForwardedMessage } from "./forward.ts";
import type { AttachmentPrint } from "./send-fingerprint.ts";

/** An attachment of a mail to send. Its bytes are in part `part` of source `sourceId`. */
export interface SentAttachment extends AttachmentPrint {
  /** The upload or attachment that the request names. Undefined if the bytes came in the request. */
  from: "upload" | "attachment" | undefined;
  /** "" if the bytes were deleted. The digest can then still prove that a request is a replay, but the file cannot be sent. */
  sourceId: string;
  part: number;
}

/** All attachments of one mail. */
export interface FilesOfSend {
  attachments: readonly SentAttachment[];
  /** The bytes that came in the request. They are written together with the message. */
  source: Source | undefined;
}

/** A message to forward. */
export interface Forward {
  message: ForwardedMessage;
  /** `attachment`: the text of the message is only in the attached file. */
  as: "inline" | "attachment";
  /** The Content-IDs of its pictures that are the same in the new mail. */
  contentIds: ReadonlySet<string>;
}

/** The attachments of an accepted send. */
export interface FiledFiles extends FilesOfSend {
  messageId: string;
  inboxId: string;
  /** One for each attachment, in order. */
  attachmentIds: readonly string[];
}
