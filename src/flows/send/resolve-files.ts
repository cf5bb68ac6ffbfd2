import type { Source } from "../../domain/receive/filed-mails.ts";
import type { AskedAttachment } from "../../domain/send/attachment-words.ts";
import { withStoredNames } from "../../domain/send/attachments.ts";
import type { SentAttachment } from "../../domain/send/files-of-send.ts";
import { typeOfForwardedMail } from "../../domain/send/forward.ts";
import type { SendRequest } from "../../domain/send/send.ts";
import { sevenBitCheck } from "../../mail/write/seven-bit.ts";
import { storedPieces } from "../read/stored-pieces.ts";
import { resolveAttachments } from "./resolve-attachments.ts";
import { resolveForward } from "./resolve-forward.ts";
import type { UploadDeps } from "./write-files.ts";

export interface ResolvedSend {
  request: SendRequest;
  /** Lets go of what was written to be sent. A mail that bears it has its own share of it. */
  release(): Promise<void>;
}

/** A mail that would have to be encoded may not be, and goes as a file of bytes (RFC 2046 §5.2.1). */
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

/** A request with all files that its mail would bear: what it names, what came with it, and what the forwarded message has. */
export async function resolveFiles(
  deps: UploadDeps,
  request: SendRequest,
  asked: readonly AskedAttachment[],
  inForm: readonly SentAttachment[],
): Promise<ResolvedSend> {
  const own = await resolveAttachments(deps, request.account.id, asked, inForm);
  const forwarded = await resolveForward(deps, request, own.attachments);
  const all = [...own.attachments, ...(forwarded?.attachments ?? [])];
  const attachments = withStoredNames(await Promise.all(all.map((file) => asItCanGo(deps, file, own.source))));
  return {
    request: {
      ...request,
      attachments: own.attachments,
      forward: forwarded?.forward,
      ...(attachments.length > 0 && { files: { attachments, source: own.source } }),
    },
    release: async () => forwarded?.release(),
  };
}
