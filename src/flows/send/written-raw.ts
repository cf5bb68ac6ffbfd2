import { notFound } from "../../domain/errors.ts";
import { mailSize } from "../../mail/write/compose.ts";
import type { SevenBitCheck } from "../../mail/write/seven-bit.ts";
import { findMessage } from "../../store/mail/message-pages.ts";
import { outgoingMailOf } from "./outgoing-mail.ts";
import { composedMail } from "./ready-mail.ts";
import { openFiles, type UploadDeps, writeFile } from "./write-files.ts";

/** One of our own mails, written out as a source, with who holds it until it is sent. */
export async function writtenRaw(deps: UploadDeps, accountId: string, messageId: string, check: SevenBitCheck) {
  const { api: db } = deps.db;
  const message = await findMessage(db, accountId, messageId);
  if (message === undefined) throw notFound("message");
  const mail = await outgoingMailOf(db, message);
  const file = { filename: "", contentType: "", sizeBytes: mailSize(mail, undefined) };
  // Of the caller comes no file, so what he has uploaded is not in its way; what is written at once has a bound all the same.
  const coming = await openFiles(deps, accountId, file, "coming");
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
