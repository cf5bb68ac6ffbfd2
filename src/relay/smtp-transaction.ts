import { Readable } from "node:stream";
import type { SMTPConnectionEnvelope, SMTPError } from "nodemailer/lib/smtp-connection";
import type { Failure, RelayOutcome } from "../domain/outcome.ts";
import { type MailBody, piecesOf, type RelayedMail, type RelayedRecipient } from "./relayed-mail.ts";
import { failureOf, reasonOf, replyIn } from "./smtp-trouble.ts";

/** How far the content of a mail was sent. */
export interface Progress {
  isStarted: boolean;
  isSent: boolean;
}

/** The content as a stream. The library reads it only after the reply 354 to DATA. `begin` is called then. */
export function contentStream(body: MailBody, progress: Progress, begin: () => void): Readable {
  async function* watched() {
    begin();
    progress.isStarted = true;
    yield* piecesOf(body);
    progress.isSent = true;
  }
  return Readable.from(watched(), { objectMode: false });
}

/**
 * The bytes of a mail with its final dot, for one write. Undefined if the mail is not one piece in memory, or must be changed to be sent: its
 * lines end with CRLF, and none begins with a dot (RFC 5321 §4.5.2).
 */
export function contentWithDot({ whole }: MailBody): Buffer | undefined {
  if (whole === undefined) return undefined;
  const text = Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString("latin1");
  if (!text.endsWith("\r\n") || /^[.\n]|\n\.|[^\r]\n|\r[^\n]/.test(text)) return undefined;
  return Buffer.concat([whole, finalDot]);
}

const finalDot = Buffer.from(".\r\n");

/**
 * The failure of a recipient that is certain before the mail is offered: the mail is too large for the server, the address
 * is invalid, or the server must offer SMTPUTF8 and does not. Otherwise undefined.
 */
export function refusalBeforehand(
  { body, smtpUtf8 }: RelayedMail,
  { address }: RelayedRecipient,
  extensions: ReadonlyMap<string, string>,
): Failure | undefined {
  const sizeLimit = Number(extensions.get("SIZE") || 0);
  if (sizeLimit > 0 && body.sizeBytes > sizeLimit) {
    const message = `Cannot relay: the mail has ${body.sizeBytes} bytes and the server takes ${sizeLimit}`;
    return { code: 552, enhancedCode: "5.3.4", message };
  }
  // The library would refuse the whole mail because of one such address.
  if (!/^[^\s<>](?:[^\r\n<>]*[^\s<>])?$/.test(address)) return badAddress(`invalid recipient ${address}`);
  if ((smtpUtf8 || /[^\0-\x7f]/.test(address)) && !extensions.has("SMTPUTF8")) {
    const message = "Cannot relay: the address is not ASCII and the server doesn't support SMTPUTF8";
    return { code: 553, enhancedCode: "5.6.7", message };
  }
  return undefined;
}

export function badAddress(reason: string): Failure {
  return { ...failureOf(undefined, `Cannot relay: ${reason}`), code: 553, enhancedCode: "5.1.3" };
}

/** The envelope for the library, which also records the server's reply to each recipient in it. */
export function envelopeOf({ envelopeFrom, body, dsn }: RelayedMail, to: readonly RelayedRecipient[]): Envelope {
  return {
    from: envelopeFrom,
    to: to.map(({ address }) => address),
    size: body.sizeBytes,
    rcptQueue: [],
    rejected: [],
    rejectedErrors: [],
    accepted: [],
    ...(dsn && { dsn: { ret: dsn.ret, envid: dsn.envid } }),
  };
}

export interface Envelope extends SMTPConnectionEnvelope {
  /** Set by the library if MAIL was refused. Replies to RCPT after that are not about the recipients. */
  mailError?: Error;
}

/**
 * The outcomes of the recipients that were refused at RCPT: 5xx fails, 4xx or a malformed reply is retried. The other
 * recipients get the outcome of the mail.
 */
export function ownOutcomes({ rejectedErrors, mailError }: Envelope, server: string): Map<string, RelayOutcome> {
  if (mailError !== undefined) return new Map();
  return new Map(
    rejectedErrors.map((error) => {
      const reply = replyIn(error);
      const failure = failureOf(reply, reply ? reply.text : `Cannot relay by ${server}: ${reasonOf(error)}`);
      const outcome: RelayOutcome =
        reply && reply.code >= 500
          ? { kind: "failed", failure, isAboutRecipient: true }
          : { kind: "retry", failure, maybeAccepted: false };
      return [String((error as SMTPError).recipient), outcome];
    }),
  );
}
