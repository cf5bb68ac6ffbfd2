import { Readable } from "node:stream";
import SMTPConnection, { type SMTPConnectionSendInfo } from "nodemailer/lib/smtp-connection";
import type { TlsMode } from "../domain/outbound.ts";
import type { Failure, RelayOutcome } from "../domain/outcome.ts";
import { providerMessageIdOf } from "../standards/provider-id.ts";
import { cleanLine, parseExtensions, parseSmtpReply, replyAsLine } from "../standards/smtp-reply.ts";
import { type Conversation, connected, converse, Lost } from "./smtp-conversation.ts";
import { failureOf, isBadEnvelope, isLost, reasonOf, replyIn, SmtpTrouble, verdictIn } from "./smtp-trouble.ts";

/** One mail for one recipient, as it goes over the wire. */
export interface RelayedMail {
  envelopeFrom: string;
  to: string;
  raw: Uint8Array;
  /** The addresses or the header are not ASCII: only a server with SMTPUTF8 may have it (RFC 6531 §3.2). */
  smtpUtf8: boolean;
}

/** How long each wait may last. */
export interface SmtpTimings {
  connectMs: number;
  greetingMs: number;
  /** Silence after a command. */
  commandMs: number;
  /** Silence while the content goes out, and after the final dot. */
  dataMs: number;
}

export const smtpTimings: SmtpTimings = { connectMs: 10_000, greetingMs: 30_000, commandMs: 60_000, dataMs: 120_000 };

/** A server, and how to talk to it. */
export interface SmtpTarget {
  /** Its name, which a checked certificate must bear. */
  host: string;
  /** Where to connect: the name again, or an address that was looked up and checked. */
  address: string;
  port: number;
  tls: TlsMode;
  login: { user: string; password: string } | undefined;
  /** Trusted in place of the system's certificate authorities. */
  ca: string | undefined;
  /** Our name for EHLO. */
  hostname: string;
  timings: SmtpTimings;
}

/** A conversation that is ready for mail: greeted, encrypted and logged in as its target demands. */
export interface SmtpSession {
  send(mail: RelayedMail, signal: AbortSignal | undefined): Promise<SendResult>;
  /** Has tried a mail before: its connection may have died since. */
  readonly isUsed: boolean;
  readonly isOpen: boolean;
  /** Says QUIT; settles when the connection is gone. */
  close(): Promise<void>;
  /** Settles when the connection is gone, whoever ended it. */
  readonly ended: Promise<void>;
}

export interface SendResult {
  outcome: RelayOutcome;
  /** The connection was lost, or refused with 421, before any content went out: the server knows nothing of this mail. */
  unheard: boolean;
}

/**
 * Opens a session. Where TLS is opportunistic and fails, once more without it, on a new connection: what came over the
 * first one can't be trusted (RFC 3207 §4.1). Rejects with an SmtpTrouble.
 */
export async function openSession(target: SmtpTarget, signal: AbortSignal | undefined): Promise<SmtpSession> {
  try {
    return await open(target, target.tls, signal);
  } catch (error) {
    if (target.tls === "opportunistic" && error instanceof SmtpTrouble && error.tlsFailed) {
      return await open(target, "off", signal);
    }
    throw error;
  }
}

async function open(target: SmtpTarget, tls: TlsMode, signal: AbortSignal | undefined): Promise<SmtpSession> {
  const { host, port, login, timings } = target;
  const name = `${host}:${port}`;
  let conversation: Conversation | undefined;
  try {
    const connection = new SMTPConnection({
      connection: await connected(target.address, port, timings.connectMs, signal),
      host,
      name: target.hostname,
      secure: tls === "implicit",
      requireTLS: tls === "required",
      opportunisticTLS: tls === "opportunistic",
      ignoreTLS: tls === "off",
      tls: { rejectUnauthorized: tls !== "opportunistic", ...(target.ca === undefined ? {} : { ca: target.ca }) },
      greetingTimeout: timings.greetingMs,
      connectionTimeout: timings.greetingMs + 2 * timings.commandMs,
      socketTimeout: timings.commandMs,
      socketCloseTimeout: 1000,
      maxResponseSize: 65_536,
      logger: false,
    });
    const talk = converse(connection);
    conversation = talk;
    // Replies that drip are never silent: all of them together, STARTTLS and its handshake included, have this time.
    const setupMs = timings.greetingMs + 2 * timings.commandMs;
    await talk.step<void>(setupMs, signal, (done) => connection.connect((error) => done(error)));
    const ehlo = connection.lastServerResponse || "";
    if (tls === "opportunistic" && parseSmtpReply(ehlo)?.code !== 250) throw new TlsRefused(ehlo);
    if (login) {
      if (!connection.secure && target.tls !== "off") throw new Error("no password is sent without TLS");
      await talk.step<unknown>(setupMs, signal, (done) =>
        connection.login({ user: login.user, pass: login.password }, done),
      );
    }
    return readySession(connection, talk, parseExtensions(ehlo), target);
  } catch (error) {
    conversation?.breakOff();
    const tlsFailed = error instanceof TlsRefused || conversation?.tlsFailed() === true;
    const reply = replyIn(error);
    const reason = reply ? replyAsLine(reply) : reasonOf(error);
    throw new SmtpTrouble(
      failureOf(reply, `Cannot open a session with ${name}: ${tlsFailed ? "TLS failed: " : ""}${reason}`),
      tlsFailed,
    );
  }
}

function readySession(
  connection: SMTPConnection,
  talk: Conversation,
  extensions: ReadonlyMap<string, string>,
  { host, port, timings }: SmtpTarget,
): SmtpSession {
  let isUsed = false;
  let needsReset = false;

  async function send(mail: RelayedMail, signal: AbortSignal | undefined): Promise<SendResult> {
    const refusal = refusalBeforehand(mail, extensions);
    if (refusal) return { outcome: { kind: "failed", failure: refusal }, unheard: false };
    const content = { isStarted: false, isSent: false };
    isUsed = true;
    try {
      setSilence(connection, timings.commandMs);
      if (needsReset) await reset(signal);
      needsReset = true;
      const sendMs = 3 * timings.commandMs + 2 * timings.dataMs + mail.raw.byteLength / minBytesPerMs;
      const source = contentStream(mail.raw, content, () => setSilence(connection, timings.dataMs));
      const envelope = { from: mail.envelopeFrom, to: [mail.to], size: mail.raw.byteLength };
      const info = await talk.step<SMTPConnectionSendInfo>(sendMs, signal, (done) =>
        connection.send(envelope, source, done),
      );
      const reply = parseSmtpReply(info.response);
      // The library takes whatever begins with a 2 for an acceptance.
      if (!reply) throw new Error(`garbage for an answer: ${info.response}`);
      needsReset = false;
      const line = replyAsLine(reply);
      return { outcome: { kind: "sent", reply: line, providerMessageId: providerMessageIdOf(line) }, unheard: false };
    } catch (error) {
      return unsent(error, content);
    } finally {
      setSilence(connection, 0);
    }
  }

  /** A server that doesn't take RSET says nothing about the mail to come: that goes over another connection. */
  async function reset(signal: AbortSignal | undefined): Promise<void> {
    try {
      await talk.step<unknown>(timings.commandMs, signal, (done) => connection.reset(done));
    } catch (error) {
      throw signal?.aborted ? error : new Lost();
    }
  }

  function unsent(error: unknown, content: { isStarted: boolean; isSent: boolean }): SendResult {
    const reply = verdictIn(error);
    // After garbage nobody knows which answer belongs to which command.
    if (!reply) talk.breakOff();
    if (reply && reply.code >= 500) {
      return { outcome: { kind: "failed", failure: failureOf(reply, reply.text) }, unheard: false };
    }
    if (isBadEnvelope(error)) {
      const failure = { code: 553, enhancedCode: "5.1.3", message: cleanLine(`Cannot relay: ${reasonOf(error)}`) };
      return { outcome: { kind: "failed", failure }, unheard: false };
    }
    const message = reply ? reply.text : `Cannot relay by ${host}:${port}: ${reasonOf(error)}`;
    const maybeAccepted = content.isSent && reply === undefined;
    return {
      outcome: { kind: "retry", failure: failureOf(reply, message), maybeAccepted },
      unheard: !content.isStarted && (reply === undefined ? isLost(error) : reply.code === 421),
    };
  }

  async function close(): Promise<void> {
    if (talk.isOpen()) {
      connection.quit();
      const impatience = setTimeout(() => talk.breakOff(), 1000);
      await talk.ended;
      clearTimeout(impatience);
    }
  }

  setSilence(connection, 0);
  return {
    send,
    close,
    ended: talk.ended,
    get isUsed() {
      return isUsed;
    },
    get isOpen() {
      return talk.isOpen();
    },
  };
}

/** Slower than this, 16 kB a second, a content is cut off, however steadily it drips. */
const minBytesPerMs = 16;

/** What the server's own words rule out before a byte is sent. */
function refusalBeforehand(mail: RelayedMail, extensions: ReadonlyMap<string, string>): Failure | undefined {
  const sizeLimit = Number(extensions.get("SIZE") || 0);
  if (sizeLimit > 0 && mail.raw.byteLength > sizeLimit) {
    const message = `Cannot relay: the mail has ${mail.raw.byteLength} bytes and the server takes ${sizeLimit}`;
    return { code: 552, enhancedCode: "5.3.4", message };
  }
  if (mail.smtpUtf8 && !extensions.has("SMTPUTF8")) {
    const message = "Cannot relay: the address is not ASCII and the server doesn't support SMTPUTF8";
    return { code: 553, enhancedCode: "5.6.7", message };
  }
  return undefined;
}

/** The content in pieces, so that a big one doesn't hold up the process, and so that we know how far it came. */
function contentStream(
  raw: Uint8Array,
  content: { isStarted: boolean; isSent: boolean },
  onStart: () => void,
): Readable {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  let offset = 0;
  return new Readable({
    // Called first when DATA has been answered with 354.
    read() {
      if (!content.isStarted) onStart();
      content.isStarted = true;
      if (offset < bytes.length) this.push(bytes.subarray(offset, offset + 65_536));
      offset += 65_536;
      if (offset >= bytes.length) {
        content.isSent = true;
        this.push(null);
      }
    },
  });
}

class TlsRefused extends Error {
  constructor(reply: string) {
    super(`the server refuses STARTTLS: ${reply}`);
  }
}

/** How long the peer may be silent before the connection is given up; 0 for ever, for a connection that rests. */
function setSilence(connection: SMTPConnection, silenceMs: number): void {
  if (connection._socket) connection._socket.setTimeout(silenceMs);
}
