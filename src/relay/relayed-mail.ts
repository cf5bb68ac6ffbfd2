import type { RelayOutcome } from "../domain/outcome.ts";

/** One mail, as it is sent, with one or more recipients. */
export interface RelayedMail {
  /** The sending account. Accounts share the connections to a mail host. */
  accountId?: string;
  envelopeFrom: string;
  /** At least one, without duplicates. Outcomes have the same order. */
  recipients: readonly RelayedRecipient[];
  /** Delivery reports to request, if the server offers DSN (RFC 3461). */
  dsn?: ReportWish;
  body: MailBody;
  /** Whether the header is not ASCII, so that the server must offer SMTPUTF8 (RFC 6531 §3.2). */
  smtpUtf8: boolean;
  /** Called before MAIL FROM or the request to another cell, for which the mail may have waited. It aborts the signal of `send` if the mail may no longer be sent. */
  lookAgain?: () => Promise<void>;
}

export interface RelayedRecipient {
  address: string;
  /** The original recipient for delivery reports (ORCPT, RFC 3461 §4.2), as a plain address. */
  orcpt?: string;
}

/** The delivery reports to request for a mail. */
export interface ReportWish {
  ret: "HDRS" | "FULL";
  envid: string;
  notify: readonly ("SUCCESS" | "FAILURE" | "DELAY")[];
}

/** The bytes of a mail. Each attempt opens them again and gets the same bytes. */
export interface MailBody {
  sizeBytes: number;
  /** All bytes, of a body that is one piece in memory. */
  whole?: Uint8Array;
  open(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** A body from bytes in memory, split into pieces, so that a large mail does not block the process. */
export function bytesBody(raw: Uint8Array): MailBody {
  return {
    sizeBytes: raw.byteLength,
    ...(raw.byteLength <= pieceBytes && { whole: raw }),
    *open() {
      for (let at = 0; at < raw.length; at += pieceBytes) yield raw.subarray(at, at + pieceBytes);
    },
  };
}

export const pieceBytes = 65_536;

/** The pieces of a body. Throws before the end if the length differs from `sizeBytes`: half a mail must not look whole. */
export async function* piecesOf(body: MailBody): AsyncGenerator<Uint8Array> {
  let left = body.sizeBytes;
  for await (const piece of body.open()) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error("the length of the mail differs from its stated size");
}

/**
 * The first 64 KiB of a body, which contain its header. One piece may not be enough: the first may have only the signature.
 */
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

/** The same outcome for each recipient of a mail. */
export function forAll({ recipients }: RelayedMail, outcome: RelayOutcome): RelayOutcome[] {
  return recipients.map(() => outcome);
}

/**
 * Sends a mail in as many transactions as the server needs. A server with a limit of recipients refuses those above it with
 * 452 4.5.3, or with 452 and no enhanced code (RFC 5321 §4.5.3.1.10). If the mail was sent to some, it is offered to the
 * refused recipients at once, in another transaction.
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
