import type { Reach } from "../../domain/access/access.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import type { Forward, SentAttachment } from "../../domain/send/files-of-send.ts";
import {
  type ForwardedMessage,
  forwardedAttachments,
  nameOfForwardedMail,
  typeOfForwardedMail,
} from "../../domain/send/forward.ts";
import type { SendRequest } from "../../domain/send/send.ts";
import { mailSize } from "../../mail/write/compose.ts";
import { type SevenBitCheck, sevenBitCheck } from "../../mail/write/seven-bit.ts";
import { findMessage } from "../../store/mail/message-pages.ts";
import { type AttachedFile, type ForwardedRow, findForwarded } from "../../store/send/forwarded.ts";
import { storedPieces } from "../read/stored-pieces.ts";
import { outgoingMailOf } from "./outgoing-mail.ts";
import { composedMail } from "./ready-mail.ts";
import { openFiles, type UploadDeps, writeFile } from "./write-files.ts";

export interface ResolvedForward {
  forward: Forward;
  attachments: readonly SentAttachment[];
  release(): Promise<void>;
}

/**
 * Finds the message to forward, with the attachments that the forward adds. Undefined if the request forwards nothing, or if no
 * such message is within the reach.
 */
export async function resolveForward(
  deps: UploadDeps,
  reach: Reach,
  { forwardOf, forwardAs = "inline", includeAttachments = true }: SendRequest,
  own: readonly SentAttachment[],
): Promise<ResolvedForward | undefined> {
  if (forwardOf === undefined || !isId("msg", forwardOf)) return undefined;
  const isInline = forwardAs === "inline";
  const wanted = { bodies: isInline, files: isInline && includeAttachments };
  const row = await findForwarded(deps.db.sends, reach, forwardOf, wanted);
  if (row === undefined) return undefined;
  const message = forwardedMessage(row);
  if (!isInline) {
    const { attachment, release } = await wholeMail(deps, reach, row);
    return { forward: { message, as: "attachment", contentIds: new Set() }, attachments: [attachment], release };
  }
  const taken = own.flatMap(({ contentId }) => contentId ?? []);
  const attachments = forwardedAttachments(row.files.map(asSent), taken);
  const contentIds = new Set(attachments.flatMap(({ contentId }) => contentId ?? []));
  return { forward: { message, as: "inline", contentIds }, attachments, release: async () => undefined };
}

export function forwardedMessage(row: ForwardedRow): ForwardedMessage {
  const { fromAddr, fromName, toAddrs, bodyHtml, ...message } = row;
  return {
    ...message,
    from: fromAddr === "" ? undefined : { address: fromAddr, ...(fromName !== null && { name: fromName }) },
    at: row.createdAt,
    to: toAddrs,
    bodyHtml: bodyHtml ?? undefined,
  };
}

function asSent({ digest, contentId, ...file }: AttachedFile): SentAttachment {
  return { ...file, contentId: contentId ?? undefined, sha256: digest, from: "attachment" };
}

/** The raw mail as a file. For an inbound mail this is the stored source; our own mail is composed for it. */
async function wholeMail(
  deps: UploadDeps,
  reach: Reach,
  row: ForwardedRow,
): Promise<{ attachment: SentAttachment; release: () => Promise<void> }> {
  const filename = nameOfForwardedMail(row.subject);
  const check = sevenBitCheck();
  const written =
    row.sourceId === null
      ? await writtenRaw(deps, reach, row.id, check)
      : await readRaw(deps, { sourceId: row.sourceId, sizeBytes: row.sizeBytes }, check);
  const { release, ...file } = written;
  const attachment: SentAttachment = {
    filename,
    contentType: typeOfForwardedMail(check.holds()),
    inline: false,
    contentId: undefined,
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

/** Composes one of our own mails, and writes it as a source. The caller releases the source after the send. */
async function writtenRaw(deps: UploadDeps, reach: Reach, messageId: string, check: SevenBitCheck) {
  const { api: db } = deps.db;
  const message = await findMessage(db, reach, messageId);
  if (message === undefined) throw notFound("message");
  const mail = await outgoingMailOf(db, message);
  const file = { filename: "", contentType: "", sizeBytes: mailSize(mail, undefined) };
  // The caller uploads nothing here. So only files that are being written count for the limit of the account, and not its completed
  // uploads.
  const coming = await openFiles(deps, reach.accountId, file, "coming");
  try {
    const { sizeBytes, digest } = await writeFile(deps, coming, 0, seen(composedMail(db, mail), check));
    return { sourceId: coming.sourceId, part: 0, sizeBytes, sha256: digest, release: coming.remove };
  } catch (error) {
    await coming.remove();
    throw error;
  }
}

async function* seen(pieces: AsyncIterable<Uint8Array>, check: SevenBitCheck) {
  for await (const piece of pieces) {
    check.see(piece);
    yield piece;
  }
}
