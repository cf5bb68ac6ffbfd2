import type { FileHandle } from "node:fs/promises";
import type { Db } from "../../database/db.ts";
import type { OutgoingMail } from "../../domain/message.ts";
import { composeMail, composeStream, mailSize, type OpenBytes } from "../../mail/write/compose.ts";
import { bodyHasher, type DkimSigner } from "../../mail/write/dkim.ts";
import { bytesBody, type MailBody } from "../../relay/relayed-mail.ts";
import { namelessFile, spoolPath } from "../../store/mail/spool.ts";
import { collectPiledUp } from "../collect-garbage.ts";
import { storedPieces } from "../read/stored-pieces.ts";
import { sizeGate } from "../size-gate.ts";

export interface ReadyMailDeps {
  /** The directory for large mails while they go out. */
  spoolDirectory: string;
  randomBytes: (length: number) => Uint8Array;
}

/** A composed and signed mail. It has the same bytes each time it is opened, until it is closed. */
export interface ReadyMail extends MailBody {
  close(): Promise<void>;
}

/** Composes and signs a mail: a small one in memory, a large one in a file that is read piece by piece. */
export async function readyMail(
  deps: ReadyMailDeps,
  db: Db,
  mail: OutgoingMail,
  signing: DkimSigner | undefined,
): Promise<ReadyMail> {
  if (mail.attachments.length > 0 && mailSize(mail, undefined) > smallBytes)
    return composing(1, () => inFile(deps, db, mail, signing));
  const raw = await wholeMail(db, mail);
  return { ...bytesBody(signing === undefined ? raw : await signing.sign(raw, mail)), close: async () => undefined };
}

/** An unsigned mail in memory. A caller with large mails must limit how many it composes at once. */
export async function wholeMail(db: Db, mail: OutgoingMail): Promise<Uint8Array> {
  if (mail.attachments.length === 0) return composeMail(mail);
  const raw = new Uint8Array(mailSize(mail, undefined));
  let length = 0;
  for await (const piece of composedMail(db, mail)) {
    raw.set(piece, length);
    length += piece.length;
  }
  return raw;
}

/** An unsigned mail in pieces. The first piece is the header. */
export function composedMail(db: Db, mail: OutgoingMail): AsyncGenerator<Uint8Array> {
  return composeStream(mail, openStored(db));
}

/**
 * Composes a mail in a file that has no name. The attachments are read, hashed and written concurrently, in one pass. The header stays in
 * memory, because the signature is sent before it, but is known only at the end.
 */
async function inFile(
  { spoolDirectory, randomBytes }: ReadyMailDeps,
  db: Db,
  mail: OutgoingMail,
  signing: DkimSigner | undefined,
): Promise<ReadyMail> {
  const pieces = composedMail(db, mail);
  const { value: header = new Uint8Array() } = await pieces.next();
  const hasher = signing && bodyHasher();
  const { file, sizeBytes } = await namelessFile(spoolPath(spoolDirectory, randomBytes), async (write) => {
    let writing = Promise.resolve();
    try {
      for await (const piece of pieces) {
        hasher?.take(piece);
        await writing;
        writing = write(piece);
        // The next await reports the error.
        writing.catch(() => undefined);
      }
    } finally {
      // Also waits if composing fails: the file is closed next, and no write may still be running then.
      await writing;
    }
  });
  collectPiledUp();
  try {
    const signature =
      signing && hasher ? await signing.signatureField(header, hasher.digest(), mail) : new Uint8Array();
    return {
      sizeBytes: signature.length + header.length + sizeBytes,
      async *open() {
        yield signature;
        yield header;
        yield* fileInPieces(file, sizeBytes);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Limits composing in files to one mail at a time. It needs the processor, so more at once would not be faster and would take more memory.
 */
const composing = sizeGate(1);

/** The size up to which mail is composed in memory. For such a mail, a file costs more than it saves. */
const smallBytes = 512 << 10;
const pieceBytes = 256 << 10;

/** Splits the pieces of the store into smaller ones, because base64 and the hash each make a copy of a piece. */
function openStored(db: Db): OpenBytes {
  return async function* (file) {
    if (file.sizeBytes === 0) return;
    for await (const piece of oneAhead(storedPieces(db, file, { first: 0, last: file.sizeBytes - 1 }))) {
      for (let at = 0; at < piece.length; at += pieceBytes) yield piece.subarray(at, at + pieceBytes);
    }
  };
}

/** Yields all items, and requests each one already while the caller processes the one before. */
async function* oneAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  let next = items.next();
  try {
    for (let { done, value } = await next; !done; { done, value } = await next) {
      next = items.next();
      // The next await reports the error.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await next.catch(() => undefined);
    await items.return(undefined);
  }
}

async function* fileInPieces(file: FileHandle, sizeBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < sizeBytes; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}
