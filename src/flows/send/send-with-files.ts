import type { Caller } from "../../domain/access/access.ts";
import { Refusal } from "../../domain/errors.ts";
import type { Source } from "../../domain/receive/filed-mails.ts";
import type { AskedAttachment } from "../../domain/send/attachment-words.ts";
import { withStoredNames } from "../../domain/send/attachments.ts";
import type { FilesOfSend, Forward, SentAttachment } from "../../domain/send/files-of-send.ts";
import { typeOfForwardedMail } from "../../domain/send/forward.ts";
import type { SendRequest, SendResult } from "../../domain/send/send.ts";
import { sevenBitCheck } from "../../mail/write/seven-bit.ts";
import { storedPieces } from "../read/stored-pieces.ts";
import { resolveAttachments } from "./resolve-attachments.ts";
import { type ResolvedForward, resolveForward } from "./resolve-forward.ts";
import type { FormFiles } from "./take-form-file.ts";
import type { UploadDeps } from "./write-files.ts";

export interface SendingWithFiles extends UploadDeps {
  sendEmail: (request: SendRequest) => Promise<SendResult>;
}

/**
 * Sends a request with attachments, with files of a form, or with a forwarded message. At the end, the files of the form and those that
 * were written for the send are released, even if the mail is accepted: it has its own share of them. With `knownForward` the files of the
 * forwarded message are among `asked`.
 */
export async function sendWithFiles(
  deps: SendingWithFiles,
  caller: Caller,
  request: SendRequest,
  asked: readonly AskedAttachment[],
  form: FormFiles | undefined,
  knownForward?: Forward,
): Promise<SendResult> {
  let forwarded: ResolvedForward | undefined;
  try {
    const own = await resolveAttachments(deps, caller, asked, form?.attachments);
    forwarded =
      knownForward === undefined
        ? await resolveForward(deps, caller.reach, request, own.attachments)
        : { forward: knownForward, attachments: [], release: async () => undefined };
    return await deps.sendEmail(await withFiles(deps, request, own, forwarded));
  } catch (error) {
    if (error instanceof Refusal) return { kind: "refused", refusal: error, usage: undefined };
    throw error;
  } finally {
    await Promise.all([form?.release(), forwarded?.release()]);
  }
}

/** Adds all files of the mail to a request: those it names, those that came with it, and those of the forwarded message. */
async function withFiles(
  deps: UploadDeps,
  request: SendRequest,
  own: FilesOfSend,
  forwarded: ResolvedForward | undefined,
): Promise<SendRequest> {
  const all = [...own.attachments, ...(forwarded?.attachments ?? [])];
  const attachments = withStoredNames(await Promise.all(all.map((file) => asItCanGo(deps, file, own.source))));
  return {
    ...request,
    attachments: own.attachments,
    forward: forwarded?.forward,
    ...(attachments.length > 0 && { files: { attachments, source: own.source } }),
  };
}

/**
 * Changes the media type of an attached mail (message/rfc822) to that of a plain file if the mail needs an encoding, because message/rfc822
 * may not be encoded (RFC 2046 §5.2.1).
 */
async function asItCanGo(deps: UploadDeps, file: SentAttachment, own: Source | undefined): Promise<SentAttachment> {
  if (file.contentType !== "message/rfc822" || file.sourceId === "") return file;
  const check = sevenBitCheck();
  if (file.sourceId === own?.id) {
    for (const { part, compressed, bytes } of own.chunks) {
      if (part === file.part) check.see(compressed ? Bun.zstdDecompressSync(bytes) : bytes);
    }
  } else if (file.sizeBytes > 0) {
    const range = { first: 0, last: file.sizeBytes - 1 };
    for await (const piece of storedPieces(deps.db.api, file, range)) check.see(piece);
  }
  return { ...file, contentType: typeOfForwardedMail(check.holds()) };
}
