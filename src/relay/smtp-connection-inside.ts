import type { RelayedRecipient, ReportWish } from "./relayed-mail.ts";

/** Private members of the SMTPConnection of the library. Only this file uses them. */
interface Inside {
  _sendCommand(command: string): void;
  _responseActions: ((reply: string) => void)[];
  /** Returns the parameters after `RCPT TO:<…>`. Called for each recipient in order. */
  _getDsnRcptToArgs(): string;
  /** Returns the stream that takes the content after the reply 354. `done` gets the reply to the final dot. */
  _createSendStream(done: SendDone): ContentStream;
  _actionSMTPStream(reply: string, done: SendDone): void;
}

type SendDone = (error: Error | null, reply?: string) => void;

/** The part of a stream that the library uses for content in memory. */
interface ContentStream {
  write(content: Uint8Array): void;
  end(): void;
  outByteCount: number;
}

/** Sends MAIL FROM without a mail and passes on the server's reply. The library has no such command of its own. */
export function askSender(connection: object, sender: string, done: (error: null, reply: string) => void): void {
  if (/[\r\n<>]/.test(sender)) throw new Error("Cannot check a sender: it is not an address");
  const inside = connection as Inside;
  inside._responseActions.push((reply) => done(null, reply));
  inside._sendCommand(`MAIL FROM:<${sender}>`);
}

/**
 * Sets the DSN parameters for the recipients of the next transaction (RFC 3461 §4), because the library has only one ORCPT
 * for all recipients. `wish` is undefined if the server does not offer DSN.
 */
export function askForReports(
  connection: object,
  wish: ReportWish | undefined,
  recipients: readonly RelayedRecipient[],
): void {
  const inside = connection as Inside;
  const next = recipients.values();
  inside._getDsnRcptToArgs = () => {
    const { orcpt } = next.next().value ?? {};
    if (wish === undefined) return "";
    return ` NOTIFY=${wish.notify.join(",")}${orcpt === undefined ? "" : ` ORCPT=${originalRecipient(orcpt)}`}`;
  };
}

/**
 * Gives the content of the next mail, which has its final dot, to `write` as it is. Without `write`, the library streams the content, and
 * adds the dot.
 */
export function writeContentBy(connection: object, write: ((content: Uint8Array) => void) | undefined): void {
  const inside = connection as Inside;
  const { _createSendStream: streamed } = Object.getPrototypeOf(connection) as Inside;
  const whole: Inside["_createSendStream"] = (done) => {
    inside._responseActions.push((reply) => inside._actionSMTPStream(reply, done));
    return { write: (content) => write?.(content), end: () => undefined, outByteCount: 0 };
  };
  inside._createSendStream = write === undefined ? streamed : whole;
}

/**
 * Encodes an ORCPT value. An address with non-ASCII characters is escaped, so that any server can pass it on (RFC 6533 §3).
 */
function originalRecipient(address: string): string {
  if (!/[^\0-\x7f]/.test(address)) return `rfc822;${encoded(address, /[+=]|[^!-~]/g, (code) => `+${twoHex(code)}`)}`;
  return `utf-8;${encoded(address, /[+=\\]|[^!-~]/gu, (code) => `\\x{${twoHex(code)}}`)}`;
}

function encoded(text: string, pattern: RegExp, written: (code: number) => string): string {
  return text.replace(pattern, (character) => written(character.codePointAt(0) ?? 0));
}

function twoHex(code: number): string {
  return code.toString(16).toUpperCase().padStart(2, "0");
}
