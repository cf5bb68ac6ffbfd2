import type { CallOptions } from "./call.ts";
import type { Schemas } from "./types.ts";

type NewAttachment = Schemas["NewAttachment"];

/** A file of a mail: its content, or the id of an upload or of a message that has it. */
export interface OutgoingFile extends Omit<NewAttachment, "content" | "filename" | "contentType"> {
  /** The bytes of the file, or base64 as a string. A `File` also gives its name, and a `Blob` its type. */
  content?: Uint8Array<ArrayBuffer> | Blob | string | undefined;
  filename?: string | undefined;
  contentType?: string | undefined;
}

export type Upload = (filename: string, file: Blob, options?: CallOptions) => Promise<{ id: string }>;

/** The most bytes that a send has in its JSON, all files together. The service takes about 1.4 MB with the text of the mail. */
const mostBytesInJson = 512 * 1024;

/**
 * The attachments of a send as the API takes them. Few bytes become base64. If the files have more bytes together, each is uploaded first.
 * A repeated send may upload them again: the service compares the content of files, not the ids of their uploads.
 */
export async function attachmentsOf(
  files: readonly OutgoingFile[],
  upload: Upload,
  options?: CallOptions,
): Promise<NewAttachment[]> {
  const withBlobs = files.map((file) =>
    file.content instanceof Uint8Array ? { ...file, content: new Blob([file.content]) } : file,
  );
  const bytes = withBlobs.reduce((sum, { content }) => sum + (content instanceof Blob ? content.size : 0), 0);
  const attachments: OutgoingFile[] = [];
  for (const file of withBlobs) {
    const { content } = file;
    if (!(content instanceof Blob)) {
      attachments.push(file);
      continue;
    }
    const { filename = (content as Partial<File>).name, contentType = content.type.split(";")[0] || undefined } = file;
    const sent =
      bytes <= mostBytesInJson
        ? { content: base64Of(await content.arrayBuffer()) }
        : { content: undefined, uploadId: (await upload(filename ?? "file", content, options)).id };
    attachments.push({ ...file, filename, contentType, ...sent });
  }
  return attachments as NewAttachment[];
}

/** Encodes in steps of whole groups of three bytes, since a call takes a limited number of arguments. */
function base64Of(buffer: ArrayBuffer): string {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let from = 0; from < bytes.length; from += 24_576) {
    text += btoa(String.fromCharCode(...bytes.subarray(from, from + 24_576)));
  }
  return text;
}
