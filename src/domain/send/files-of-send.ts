import type { Source } from "../receive/filed-mails.ts";
import type { ForwardedMessage } from "./forward.ts";
import type { AttachmentPrint } from "./send-fingerprint.ts";

/** A file that a mail will bear, with where its bytes lie. */
export interface SentAttachment extends AttachmentPrint {
  /** What was named for it; undefined of what came with the request. */
  from: "upload" | "attachment" | undefined;
  /** "" where the bytes have gone, and what is known of the file is enough for a replay alone. */
  sourceId: string;
  part: number;
}

/** All files of one mail. */
export interface FilesOfSend {
  attachments: readonly SentAttachment[];
  /** Bytes that came in the request's own words: written with the message, and only then. */
  source: Source | undefined;
}

/** A message that is handed on. */
export interface Forward {
  message: ForwardedMessage;
  /** `attachment`: its words are in the file alone. */
  as: "inline" | "attachment";
  /** Of its pictures that go along as they were. */
  contentIds: ReadonlySet<string>;
}

/** What an accepted send with files writes beside its message. */
export interface FiledFiles extends FilesOfSend {
  messageId: string;
  inboxId: string;
  /** Of each attachment. */
  attachmentIds: readonly string[];
}
