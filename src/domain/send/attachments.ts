import { storedNames } from "../../standards/filename.ts";
import { notFound } from "../errors.ts";
import { type AskedAttachment, givenMediaType, inheritedMediaType } from "./attachment-words.ts";
import { draftOf } from "./draft.ts";
import type { FiledFiles, SentAttachment } from "./files-of-send.ts";
import type { Send, SendRequest } from "./send.ts";

/** A stored file, before the request changes its name or type. */
export interface FoundFile {
  filename: string;
  contentType: string;
  sizeBytes: number;
  digest: string;
  sourceId: string;
  part: number;
}

/** The attachment for a stored file. A name and a type in the request replace those of the file. */
export function sentAttachment(
  { filename, contentType, inline = false, contentId }: Omit<AskedAttachment, "content" | "uploadId" | "messageId">,
  found: FoundFile,
  from: SentAttachment["from"],
): SentAttachment {
  const name = filename ?? found.filename;
  return {
    filename: name,
    contentType: (contentType && givenMediaType(contentType)) ?? inheritedMediaType(found.contentType, name),
    inline,
    contentId,
    sha256: found.digest,
    sizeBytes: found.sizeBytes,
    sourceId: found.sourceId,
    part: found.part,
    from,
  };
}

/** Replaces the file names of the attachments by their stored names, which are unique and safe (contract §9). */
export function withStoredNames(attachments: readonly SentAttachment[]): SentAttachment[] {
  const names = storedNames(attachments);
  return attachments.map((attachment, index) => ({ ...attachment, filename: names[index] ?? attachment.filename }));
}

/** Refuses a send if the bytes of a file, or the message to forward, do not exist. It is not called for a replay, which needs no bytes. */
export function refuseLost({ forwardOf, forward, files }: SendRequest, lostSourceIds: ReadonlySet<string>): void {
  if (forwardOf !== undefined && forward === undefined) throw notFound("message");
  for (const { from = "attachment", sourceId } of files?.attachments ?? []) {
    if (sourceId === "" || lostSourceIds.has(sourceId)) throw notFound(from);
  }
}

/** The ids of the stored sources that the attachments of these sends need, each once. Sources that come in a request are left out. */
export function sourcesNamed(requests: readonly SendRequest[]): string[] {
  const all = requests.flatMap(({ files }) =>
    (files?.attachments ?? []).flatMap(({ sourceId }) => (sourceId === files?.source?.id ? [] : sourceId)),
  );
  return [...new Set(all)];
}

/** The attachments to write for a send, with the ids of their rows. Undefined if it has none, or if its draft has written them. */
export function filedFiles({ request, messageId, attachmentIds }: Send): FiledFiles | undefined {
  const { step } = request;
  const areWritten = draftOf(step) !== undefined && !(step?.kind === "change" && step.replacesFiles);
  if (areWritten) return undefined;
  return request.files && { ...request.files, messageId, inboxId: request.inboxId, attachmentIds };
}
