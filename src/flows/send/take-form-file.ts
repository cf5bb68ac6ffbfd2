import { sentAttachment } from "../../domain/send/attachments.ts";
import type { SentAttachment } from "../../domain/send/files-of-send.ts";
import { mediaTypeOfName } from "../../standards/media-type.ts";
import { type ComingFiles, observed, openFiles, type UploadDeps, writeFile } from "./write-files.ts";

/** A file of a form, with the header of its part. */
export interface FormFile {
  filename: string;
  contentType: string | undefined;
  /** Set if the HTML shows the file. */
  contentId: string | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

/** The files of one form. They are the parts of one source. */
export interface FormFiles {
  take(file: FormFile): Promise<void>;
  readonly attachments: readonly SentAttachment[];
  /** Releases the files. Those of an accepted mail stay, because the mail has its own share of them. */
  release(): Promise<void>;
}

/**
 * Takes the files of a form. It reserves room when the first file comes, because a form without files needs none. `sizeBytes` is the limit
 * for all files together.
 */
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
