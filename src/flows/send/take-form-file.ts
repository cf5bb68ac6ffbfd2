import { sentAttachment } from "../../domain/send/attachments.ts";
import type { SentAttachment } from "../../domain/send/files-of-send.ts";
import { mediaTypeOfName } from "../../standards/media-type.ts";
import { type ComingFiles, observed, openFiles, type UploadDeps, writeFile } from "./write-files.ts";

/** A file of a form, as its part tells of it. */
export interface FormFile {
  filename: string;
  contentType: string | undefined;
  /** Where it is shown by the HTML. */
  contentId: string | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

/** The files of one form, which are the parts of one source. */
export interface FormFiles {
  take(file: FormFile): Promise<void>;
  readonly attachments: readonly SentAttachment[];
  /** Lets go of them: a mail that bears them has its own share of them. */
  release(): Promise<void>;
}

/** Takes room with the first file: a form without one needs none. `sizeBytes` is what all may have together. */
export function formFiles(deps: UploadDeps, accountId: string, sizeBytes: number): FormFiles {
  const attachments: SentAttachment[] = [];
  let coming: ComingFiles | undefined;
  return {
    attachments,
    async take({ filename, contentType = mediaTypeOfName(filename), contentId, bytes }) {
      coming ??= await openFiles(deps, accountId, { filename: "", contentType: "", sizeBytes });
      const part = attachments.length;
      const written = await writeFile(deps, coming, part, observed(bytes, deps.uploads));
      const found = { filename, contentType, ...written, sourceId: coming.sourceId, part };
      attachments.push(sentAttachment({ inline: contentId !== undefined, contentId }, found, undefined));
    },
    release: async () => coming?.remove(),
  };
}
