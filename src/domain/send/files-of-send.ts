import type { Source } from "../receive/filed-mails.ts";
import type { ForwardedMessage } from "./forward.ts";
import type { AttachmentPrint } from "./send-fingerprint.ts";

/** An attachment of a mail to send. Its bytes are in part `part` of source `sourceId`. */
export interface SentAttachment extends AttachmentPrint {
  /** The upload or attachment that the request names. Undefined if the bytes came in the request. */
  from: "upload" | "attachment" | undefined;
  /** "" if the bytes were deleted. The file then cannot be sent, but its digest still shows whether a request is a replay. */
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
  /** The Content-IDs of pictures of the message that stay the same in the new mail. */
  contentIds: ReadonlySet<string>;
}

/** The attachments of an accepted send. */
export interface FiledFiles extends FilesOfSend {
  messageId: string;
  inboxId: string;
  /** The ids of the attachments, in the order of the attachments. */
  attachmentIds: readonly string[];
}
