import { isId } from "../../domain/ids.ts";
import type { Forward, SentAttachment } from "../../domain/send/files-of-send.ts";
import {
  type ForwardedMessage,
  forwardedAttachments,
  nameOfForwardedMail,
  typeOfForwardedMail,
} from "../../domain/send/forward.ts";
import type { SendRequest } from "../../domain/send/send.ts";
import { type SevenBitCheck, sevenBitCheck } from "../../mail/write/seven-bit.ts";
import { type AttachedFile, type ForwardedRow, findForwarded } from "../../store/send/forwarded.ts";
import { storedPieces } from "../read/stored-pieces.ts";
import type { UploadDeps } from "./write-files.ts";
import { writtenRaw } from "./written-raw.ts";

export interface ResolvedForward {
  forward: Forward;
  attachments: readonly SentAttachment[];
  release(): Promise<void>;
}

/** What a message that is handed on brings along; undefined where there is none, or none such. */
export async function resolveForward(
  deps: UploadDeps,
  { account, forwardOf, forwardAs = "inline", includeAttachments = true }: SendRequest,
  own: readonly SentAttachment[],
): Promise<ResolvedForward | undefined> {
  if (forwardOf === undefined || !isId("msg", forwardOf)) return undefined;
  const isInline = forwardAs === "inline";
  const wanted = { bodies: isInline, files: isInline && includeAttachments };
  const row = await findForwarded(deps.db.api, account.id, forwardOf, wanted);
  if (row === undefined) return undefined;
  const message = forwardedMessage(row);
  if (!isInline) {
    const { attachment, release } = await wholeMail(deps, account.id, row);
    return { forward: { message, as: "attachment", contentIds: new Set() }, attachments: [attachment], release };
  }
  const taken = own.flatMap(({ contentId }) => contentId ?? []);
  const attachments = forwardedAttachments(row.files.map(asSent), taken);
  const contentIds = new Set(attachments.flatMap(({ contentId }) => contentId ?? []));
  return { forward: { message, as: "inline", contentIds }, attachments, release: async () => undefined };
}

function forwardedMessage(row: ForwardedRow): ForwardedMessage {
  const { fromAddr, fromName, toAddr, toAddrs, bodyHtml, ...message } = row;
  return {
    ...message,
    from: fromAddr === "" ? undefined : { address: fromAddr, ...(fromName !== null && { name: fromName }) },
    at: row.createdAt,
    to: toAddrs ?? [toAddr],
    bodyHtml: bodyHtml ?? undefined,
  };
}

function asSent({ digest, contentId, ...file }: AttachedFile): SentAttachment {
  return { ...file, contentId: contentId ?? undefined, sha256: digest, from: "attachment" };
}

/** The raw mail as a file: of one that came in as it lies, of ours written out for this. */
async function wholeMail(
  deps: UploadDeps,
  accountId: string,
  row: ForwardedRow,
): Promise<{ attachment: SentAttachment; release: () => Promise<void> }> {
  const filename = nameOfForwardedMail(row.subject);
  const check = sevenBitCheck();
  const written =
    row.sourceId === null
      ? await writtenRaw(deps, accountId, row.id, check)
      : await readRaw(deps, { sourceId: row.sourceId, sizeBytes: row.sizeBytes ?? 0 }, check);
  const { release, ...file } = written;
  const attachment: SentAttachment = {
    ...{ filename, contentType: typeOfForwardedMail(check.holds()), inline: false, contentId: undefined },
    ...file,
    from: "attachment",
  };
  return { attachment, release };
}

async function readRaw({ db }: UploadDeps, raw: { sourceId: string; sizeBytes: number }, check: SevenBitCheck) {
  const { sourceId, sizeBytes } = raw;
  const hash = new Bun.CryptoHasher("sha256");
  for await (const piece of storedPieces(db.api, { sourceId, part: 0 }, { first: 0, last: sizeBytes - 1 })) {
    hash.update(piece);
    check.see(piece);
  }
  return { sourceId, part: 0, sizeBytes, sha256: hash.digest("hex"), release: async () => undefined };
}
