import type { RelayOutcome } from "../domain/outcome.ts";

/** One mail for one recipient or several, as it goes over the wire. */
export interface RelayedMail {
  /** The account that sends it. Accounts share the connections to a mail host. */
  accountId?: string;
  envelopeFrom: string;
  /** Different addresses, at least one. What comes of the mail is told in this order. */
  recipients: readonly RelayedRecipient[];
  /** Asked of a server that can report what becomes of the mail (RFC 3461); to others it is not said. */
  dsn?: ReportWish;
  body: MailBody;
  /** The header is not ASCII: only a server with SMTPUTF8 may have it (RFC 6531 §3.2). */
  smtpUtf8: boolean;
}

export interface RelayedRecipient {
  address: string;
  /** The address that reports shall name, where it shall be told: without type and encoding. */
  orcpt?: string;
}

/** What we want to hear about a mail, and what of it the report shall hold. */
export interface ReportWish {
  ret: "HDRS" | "FULL";
  envid: string;
  notify: readonly ("SUCCESS" | "FAILURE" | "DELAY")[];
}

/** The bytes of a mail. They may be opened as often as there are attempts, and are the same each time. */
export interface MailBody {
  sizeBytes: number;
  open(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Bytes in memory, in pieces, so that a big mail doesn't hold up the process. */
export function bytesBody(raw: Uint8Array): MailBody {
  return {
    sizeBytes: raw.byteLength,
    *open() {
      for (let at = 0; at < raw.length; at += pieceBytes) yield raw.subarray(at, at + pieceBytes);
    },
  };
}

export const pieceBytes = 65_536;

/** The pieces of a body. One that is not as long as it said must not pass for a whole mail: it is thrown, before the end. */
export async function* piecesOf(body: MailBody): AsyncGenerator<Uint8Array> {
  let left = body.sizeBytes;
  for await (const piece of body.open()) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error("the mail has another length than it said");
}

/** Where its header stands. A first piece may be a signature alone, or nothing where there is none. */
export async function headOf(body: MailBody): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of body.open()) {
    pieces.push(piece);
    sizeBytes += piece.length;
    if (sizeBytes >= pieceBytes) break;
  }
  return Buffer.concat(pieces).subarray(0, pieceBytes);
}

/** The same for all recipients of a mail. */
export function forAll({ recipients }: RelayedMail, outcome: RelayOutcome): RelayOutcome[] {
  return recipients.map(() => outcome);
}

/**
 * A server that takes only so many recipients at once says 452 4.5.3 to those behind (RFC 5321 §4.5.3.1.10); some say 452
 * alone. When it has sent the mail to the others, they go at once in a further transaction.
 */
export async function inTransactions(
  mail: RelayedMail,
  offer: (mail: RelayedMail) => Promise<RelayOutcome[]>,
): Promise<RelayOutcome[]> {
  const outcomes = await offer(mail);
  const recipients = mail.recipients.filter((_, index) => isTooMany(outcomes[index]));
  if (recipients.length === 0 || !outcomes.some(({ kind }) => kind === "sent")) return outcomes;
  const further = await inTransactions({ ...mail, recipients }, offer);
  return outcomes.map((outcome) => (isTooMany(outcome) ? (further.shift() ?? outcome) : outcome));
}

function isTooMany(outcome: RelayOutcome | undefined): boolean {
  if (outcome?.kind !== "retry") return false;
  const { code, enhancedCode } = outcome.failure;
  return code === 452 && (enhancedCode === "4.5.3" || enhancedCode === null);
}
