import { type Caller, makerOf } from "../../domain/access/access.ts";
import { notFound } from "../../domain/errors.ts";
import { markUploadComplete, type Upload } from "../../store/mail/uploads.ts";
import { observed, openFiles, type UploadDeps, writeFile } from "./write-files.ts";

export interface SentFile {
  /** A stored name (contract §9). */
  filename: string;
  contentType: string;
  /** The size that the client declares, or undefined. */
  declaredBytes: number | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

/** Receives an uploaded file. Resolves when the whole file is on disk. An upload that ends early is removed. */
export async function takeUpload(deps: UploadDeps, caller: Caller, file: SentFile): Promise<Upload> {
  const { filename, contentType, declaredBytes = deps.uploads.sendMaxBytes, bytes } = file;
  const coming = await openFiles(deps, caller.id, {
    filename,
    contentType,
    sizeBytes: declaredBytes,
    madeBy: makerOf(caller),
  });
  const { id, createdAt } = coming;
  try {
    const written = await writeFile(deps, coming, 0, observed(bytes, deps.uploads));
    const completedAt = deps.now();
    const expiresAt = new Date(completedAt.getTime() + deps.uploads.uploadTtlMs);
    if (!(await markUploadComplete(deps.db.api, id, { ...written, completedAt, expiresAt }))) throw notFound("upload");
    return { id, filename, contentType, ...written, createdAt, expiresAt };
  } catch (error) {
    await coming.remove();
    throw error;
  }
}
