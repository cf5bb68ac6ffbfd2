import type { Db } from "../../database/db.ts";
import type { DocumentFile, DocumentText, NoTextReason, ReadDocument } from "../../domain/document.ts";
import { Refusal } from "../../domain/errors.ts";
import type { DocumentReader } from "../../mail/documents/document-reader.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { utf8Length } from "../../standards/text.ts";
import type { StoredAttachment } from "../../store/mail/attachments.ts";
import type { Deps } from "../deps.ts";
import { storedPieces } from "./stored-pieces.ts";

/** The texts of attachments. They are read when they are asked for, so that no mail waits for them. */
export interface AttachmentTexts {
  /** The text of an attachment, or a refusal with the reason for which it has none. */
  textOf(attachment: StoredAttachment): Promise<DocumentText>;
}

export interface AttachmentTextsDeps extends Pick<Deps, "db" | "now"> {
  documents: Pick<DocumentReader, "read">;
  nowMs?: () => number;
}

/** A text that took longer than this is kept for a day, if it is not longer than `mostKeptBytes`. */
const quickMs = 50;
const keptMs = 24 * 60 * 60_000;
/** A document that was cut or refused for its time is read again after this time: a busy machine may be the cause. */
const keptCutMs = 10 * 60_000;
const mostKeptBytes = 2 << 20;
/** At most this many texts are kept: 64 MiB in memory. */
const mostKept = 16;

/**
 * Makes the reader of attachments. A document is read once, however many requests wait for it. Texts are kept for each account apart,
 * because a quick answer would tell another account that this one has the same file.
 */
export function attachmentTexts({
  db,
  now,
  documents,
  nowMs = () => performance.now(),
}: AttachmentTextsDeps): AttachmentTexts {
  const kept = passingMemory<string, ReadDocument>(mostKept);
  const running = new Map<string, Promise<ReadDocument>>();

  async function read(key: string, attachment: StoredAttachment): Promise<ReadDocument> {
    let beganMs = 0;
    const document = await documents.read(async () => {
      const file = await fileOf(db.api, attachment);
      beganMs = nowMs();
      return file;
    }, attachment.accountId);
    if (document === undefined) {
      throw new Refusal("service_unavailable", "Cannot read attachment: too many others are being read", {
        retryAfterSeconds: 5,
      });
    }
    const isSlow = nowMs() - beganMs > quickMs;
    if (isSlow && isShort(document)) kept.set(key, document, now().getTime() + keptMsOf(document));
    return document;
  }

  return {
    async textOf(attachment) {
      const key = keyOf(attachment);
      const known = kept.get(key, now().getTime());
      const document = known ?? (await (running.get(key) ?? started(key, attachment)));
      if ("reason" in document) throw unavailable(document.reason);
      return document;
    },
  };

  function started(key: string, attachment: StoredAttachment): Promise<ReadDocument> {
    const promise = read(key, attachment).finally(() => running.delete(key));
    running.set(key, promise);
    return promise;
  }
}

/** Name and label are parts of the key, because they can decide how the bytes are read. */
function keyOf({ accountId, digest, filename, contentType }: StoredAttachment): string {
  return JSON.stringify([accountId, digest, filename, contentType]);
}

function isShort(document: ReadDocument): boolean {
  return "reason" in document || utf8Length(document.text) <= mostKeptBytes;
}

function keptMsOf(document: ReadDocument): number {
  const isCut = "reason" in document ? document.reason === "too_large" : document.truncated;
  return isCut ? keptCutMs : keptMs;
}

async function fileOf(db: Db, attachment: StoredAttachment): Promise<DocumentFile> {
  const { filename, contentType, sizeBytes } = attachment;
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for await (const piece of storedPieces(db, attachment, { first: 0, last: sizeBytes - 1 })) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return { bytes, filename, contentType };
}

function unavailable(reason: NoTextReason): Refusal {
  return new Refusal("text_unavailable", `Cannot read attachment: ${explanations[reason]}`, { extra: { reason } });
}

const explanations: Readonly<Record<NoTextReason, string>> = {
  unsupported: "it is of no kind whose text can be read",
  encrypted: "it needs a password",
  damaged: "it is damaged",
  too_large: "it needs too much time or memory, or unpacks to too many bytes",
  no_text: "it has no text, as a scan whose words are a picture",
};
