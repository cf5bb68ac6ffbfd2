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
  /** Where large mails lie while they go out. */
  spoolDirectory: string;
  randomBytes: (length: number) => Uint8Array;
}

/** A mail composed and signed: the same bytes however often it is opened, until it is closed. */
export interface ReadyMail extends MailBody {
  close(): Promise<void>;
}

/** In memory where it is small, else in a file, from which memory holds a piece at a time. */
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

/** A mail in memory, without signature. Who asks for a large one sees to it that few are at it together. */
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

/** A mail in pieces, without signature; the first is its header. */
export function composedMail(db: Db, mail: OutgoingMail): AsyncGenerator<Uint8Array> {
  return composeStream(mail, openStored(db));
}

/** Reading, hashing and writing go on in one pass, and beside each other. The header lies in memory, since the signature stands before it. */
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
        // Told by the next wait for it.
        writing.catch(() => undefined);
      }
    } finally {
      // The file is closed where composing fails: nothing may be on its way to it then.
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

/** Composing is work of the one processor: more of it at once would be no sooner done, and each takes pieces of files in memory. */
const composing = sizeGate(1);

/** Below this a file costs more than it spares. */
const smallBytes = 512 << 10;
const pieceBytes = 256 << 10;

/** In smaller pieces than those of the store: what base64 and the hash make of one lies beside it. */
function openStored(db: Db): OpenBytes {
  return async function* (file) {
    if (file.sizeBytes === 0) return;
    for await (const piece of oneAhead(storedPieces(db, file, { first: 0, last: file.sizeBytes - 1 }))) {
      for (let at = 0; at < piece.length; at += pieceBytes) yield piece.subarray(at, at + pieceBytes);
    }
  };
}

/** What comes next is asked for while what came is worked on. */
async function* oneAhead<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  let next = items.next();
  try {
    for (let { done, value } = await next; !done; { done, value } = await next) {
      next = items.next();
      // Told by the next wait for it.
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
