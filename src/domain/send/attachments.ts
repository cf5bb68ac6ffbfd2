import { storedNames } from "../../standards/filename.ts";
import { notFound } from "../errors.ts";
import { type AskedAttachment, givenMediaType, inheritedMediaType } from "./attachment-words.ts";
import type { FiledFiles, SentAttachment } from "./files-of-send.ts";
import type { Send, SendRequest } from "./send.ts";

/** A file as it lies somewhere, before the caller's words on it count. */
export interface FoundFile {
  filename: string;
  contentType: string;
  sizeBytes: number;
  digest: string;
  sourceId: string;
  part: number;
}

/** What the caller says of a file goes before what is known of it. */
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
    ...{ sha256: found.digest, sizeBytes: found.sizeBytes, sourceId: found.sourceId, part: found.part },
    from,
  };
}

/** Under the names that they are kept by, which are different and safe (contract §9). */
export function withStoredNames(attachments: readonly SentAttachment[]): SentAttachment[] {
  const names = storedNames(attachments);
  return attachments.map((attachment, index) => ({ ...attachment, filename: names[index] ?? attachment.filename }));
}

/** Behind the replay: a file that is not there any more is known well enough to know a request again, and not to send it. */
export function refuseLost({ forwardOf, forward, files }: SendRequest, lostSourceIds: ReadonlySet<string>): void {
  if (forwardOf !== undefined && forward === undefined) throw notFound("message");
  for (const { from = "attachment", sourceId } of files?.attachments ?? []) {
    if (sourceId === "" || lostSourceIds.has(sourceId)) throw notFound(from);
  }
}

/** What such sends need to be there, each once. */
export function sourcesNamed(requests: readonly SendRequest[]): string[] {
  const all = requests.flatMap(({ files }) =>
    (files?.attachments ?? []).flatMap(({ sourceId }) => (sourceId === files?.source?.id ? [] : sourceId)),
  );
  return [...new Set(all)];
}

/** Undefined where it bears none. */
export function filedFiles({ request, messageId, attachmentIds }: Send): FiledFiles | undefined {
  return request.files && { ...request.files, messageId, inboxId: request.inboxId, attachmentIds };
}
