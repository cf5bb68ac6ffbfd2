import type { Caller } from "../../domain/access/access.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import type { Chunk } from "../../domain/receive/filed-mails.ts";
import type { AskedAttachment } from "../../domain/send/attachment-words.ts";
import { type FoundFile, sentAttachment, withStoredNames } from "../../domain/send/attachments.ts";
import type { FilesOfSend, SentAttachment } from "../../domain/send/files-of-send.ts";
import { mediaTypeOfName } from "../../standards/media-type.ts";
import { chunksOf } from "../../store/mail/sources.ts";
import { findFiles } from "../../store/send/attached.ts";
import type { Deps } from "../deps.ts";

/**
 * Finds the bytes and the digest of each attachment. This happens before the idempotency key is judged, because the digests are part of the
 * fingerprint. `inForm` are files that came in the form; they come after the others.
 */
export async function resolveAttachments(
  deps: Deps,
  caller: Caller,
  asked: readonly AskedAttachment[],
  inForm: readonly SentAttachment[] = [],
): Promise<FilesOfSend> {
  if (asked.length === 0) return { attachments: withStoredNames(inForm), source: undefined };
  const found = await namedFiles(deps, caller, asked);
  const sourceId = deps.newId("src", deps.now());
  const chunks: Chunk[] = [];
  const attachments: SentAttachment[] = [];
  let part = 0;
  for (const [index, attachment] of asked.entries()) {
    if (attachment.content === undefined) {
      const file = found.get(index);
      const from = attachment.uploadId === undefined ? "attachment" : "upload";
      if (file === undefined) throw notFound(from);
      attachments.push(sentAttachment(attachment, file, from));
      continue;
    }
    const bytes = Uint8Array.fromBase64(attachment.content);
    chunks.push(...(await chunksOf(part, bytes)));
    attachments.push(sentAttachment(attachment, { ...fileOf(attachment, bytes), sourceId, part }, undefined));
    part += 1;
  }
  const source = chunks.length === 0 ? undefined : { id: sourceId, shares: 1, chunks };
  return { attachments: withStoredNames([...attachments, ...inForm]), source };
}

function fileOf({ filename = "" }: AskedAttachment, bytes: Uint8Array): Omit<FoundFile, "sourceId" | "part"> {
  const digest = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  return { filename, contentType: mediaTypeOfName(filename), sizeBytes: bytes.length, digest };
}

/** Finds the files that attachments name by the id of an upload or of a message, by their index in `asked`. */
async function namedFiles(
  deps: Deps,
  caller: Caller,
  asked: readonly AskedAttachment[],
): Promise<ReadonlyMap<number, FoundFile>> {
  const uploads = asked.flatMap(({ uploadId }, index) => (uploadId === undefined ? [] : [{ index, uploadId }]));
  const attachments = asked.flatMap(({ messageId, filename = "" }, index) =>
    messageId === undefined ? [] : [{ index, messageId, filename }],
  );
  if (uploads.length + attachments.length === 0) return new Map();
  // A text that cannot be an id is looked up as the empty id, which no file has.
  const named = {
    uploadIds: uploads.map(({ uploadId }) => (isId("upl", uploadId) ? uploadId : "")),
    attachments: attachments.map(({ messageId, filename }) => ({
      messageId: isId("msg", messageId) ? messageId : "",
      filename,
    })),
  };
  const found = await findFiles(deps.db.sends, caller, named, deps.now());
  return new Map([...byIndex(uploads, found.uploads), ...byIndex(attachments, found.attachments)]);
}

function byIndex(named: readonly { index: number }[], found: ReadonlyMap<number, FoundFile>): [number, FoundFile][] {
  return named.flatMap(({ index }, position) => {
    const file = found.get(position);
    return file === undefined ? [] : [[index, file] as [number, FoundFile]];
  });
}
