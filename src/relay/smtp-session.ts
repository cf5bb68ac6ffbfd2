import { Readable } from "node:stream";
import { TLSSocket } from "node:tls";
import SMTPConnection, { type SMTPConnectionSendInfo, type SMTPError } from "nodemailer/lib/smtp-connection";
import type { SmtpOutbound, TlsMode } from "../domain/outbound.ts";
import type { MailServer, RelayOutcome } from "../domain/outcome.ts";
import { providerMessageIdOf } from "../standards/provider-id.ts";
import { parseExtensions, parseSmtpReply, replyAsLine, type SmtpReply } from "../standards/smtp-reply.ts";
import type { RelayedMail, RelayedRecipient } from "./relayed-mail.ts";
import { askForReports, askSender, writeContentBy } from "./smtp-connection-inside.ts";
import { type Conversation, connected, converse, Lost } from "./smtp-conversation.ts";
import {
  badAddress,
  contentStream,
  contentWithDot,
  type Envelope,
  envelopeOf,
  ownOutcomes,
  type Progress,
  refusalBeforehand,
} from "./smtp-transaction.ts";
import { failureOf, isBadEnvelope, isLost, reasonOf, replyIn, SmtpTrouble, verdictIn } from "./smtp-trouble.ts";

/** The time limit of each wait. */
export interface SmtpTimings {
  connectMs: number;
  greetingMs: number;
  /** Silence after a command. */
  commandMs: number;
  /** Silence while the content goes out, and after the final dot. */
  dataMs: number;
}

export const smtpTimings: SmtpTimings = { connectMs: 10_000, greetingMs: 30_000, commandMs: 60_000, dataMs: 120_000 };

/** A server and the settings of a session with it. */
export interface SmtpTarget {
  /** The name in the server's certificate. */
  host: string;
  /** The address to connect to: the same name, or its IP address if that was looked up and checked. */
  address: string;
  port: number;
  tls: TlsMode;
  login: { user: string; password: string } | undefined;
  /** PEM, trusted instead of the system's certificate authorities. */
  ca: string | undefined;
  /** Our name for EHLO. */
  hostname: string;
  timings: SmtpTimings;
}

interface OwnSettings {
  hostname: string;
  ca?: string | undefined;
  timings?: Partial<SmtpTimings> | undefined;
}

/** The target for a relay that was configured by the operator. */
export function relayTarget(outbound: SmtpOutbound, { hostname, ca, timings }: OwnSettings): SmtpTarget {
  const { host, port, tls, login } = outbound;
  return { host, address: host, port, tls, login, ca, hostname, timings: { ...smtpTimings, ...timings } };
}

/** A session that is ready for mail: greeted, encrypted and logged in as its target requires. */
export interface SmtpSession {
  send(mail: RelayedMail, signal: AbortSignal | undefined): Promise<SendResult>;
  /** Sends MAIL FROM without a mail, and resolves with the reply. So it shows whether the server accepts this sender. */
  askSender(sender: string): Promise<SmtpReply>;
  /** Whether a mail was tried before. Such a connection may have died since. */
  readonly isUsed: boolean;
  readonly isOpen: boolean;
  /** Sends QUIT; settles when the connection is closed. */
  close(): Promise<void>;
  /** Settles when the connection is closed by either side. */
  readonly ended: Promise<void>;
}

export interface SendResult {
  /** One for each recipient, in the mail's order. */
  outcomes: RelayOutcome[];
  /** The connection was lost, or refused with 421, before any content was sent: the server has not seen this mail. */
  unheard: boolean;
}

/**
 * Opens a session. If opportunistic TLS fails, it tries again without TLS on a new connection, because data from the
 * first one cannot be trusted (RFC 3207 §4.1). Rejects with SmtpTrouble.
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
    // A reply that comes octet by octet never reaches the limit of silence, so greeting, EHLO and STARTTLS together have
    // this limit too.
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
      { host, tls: null },
    );
  }
}

function readySession(
  connection: SMTPConnection,
  talk: Conversation,
  extensions: ReadonlyMap<string, string>,
  { host, port, timings }: SmtpTarget,
): SmtpSession {
  const server: MailServer = { host, tls: tlsOf(connection) };
  let isUsed = false;
  let needsReset = false;

  /** Sends the mail to these recipients in one transaction. */
  async function offer(
    mail: RelayedMail,
    recipients: readonly RelayedRecipient[],
    signal: AbortSignal | undefined,
  ): Promise<SendResult> {
    const { body } = mail;
    const content = { isStarted: false, isSent: false };
    const envelope = envelopeOf(mail, recipients);
    const begin = () => setSilence(connection, timings.dataMs);
    const whole = contentWithDot(body);
    const source = whole ?? contentStream(body, content, begin);
    isUsed = true;
    try {
      setSilence(connection, timings.commandMs);
      if (needsReset) await reset(signal);
      needsReset = true;
      writeContentBy(
        connection,
        whole &&
          ((bytes) => {
            begin()?.write(bytes);
            content.isStarted = true;
            content.isSent = true;
          }),
      );
      askForReports(connection, extensions.has("DSN") ? mail.dsn : undefined, recipients);
      const sendMs = (2 + recipients.length) * timings.commandMs + 2 * timings.dataMs + body.sizeBytes / minBytesPerMs;
      const info = await talk.step<SMTPConnectionSendInfo>(sendMs, signal, (done) =>
        connection.send(envelope, source, done),
      );
      const sent = acceptanceOf(replyOf(info.response));
      needsReset = false;
      return { outcomes: outcomesOf(envelope, recipients, sent), unheard: false };
    } catch (error) {
      return unsent(error, envelope, recipients, content);
    } finally {
      if (source instanceof Readable) source.destroy();
      setSilence(connection, 0);
    }
  }

  /** The outcome of each recipient: its own if it was refused at RCPT, otherwise that of the mail. */
  function outcomesOf(
    envelope: Envelope,
    recipients: readonly RelayedRecipient[],
    ofTheMail: RelayOutcome,
  ): RelayOutcome[] {
    const own = ownOutcomes(envelope, `${host}:${port}`);
    // After a malformed reply, replies can no longer be matched with commands.
    if ([...own.values()].some((outcome) => outcome.kind === "retry" && outcome.failure.code === null)) talk.breakOff();
    return recipients.map(({ address }) => own.get(address) ?? ofTheMail);
  }

  /**
   * Sends RSET, which ends a failed transaction. If RSET fails, the connection counts as lost, and the mail is sent over
   * another one.
   */
  async function reset(signal: AbortSignal | undefined): Promise<void> {
    try {
      await talk.step<unknown>(timings.commandMs, signal, (done) => connection.reset(done));
    } catch (error) {
      throw signal?.aborted ? error : new Lost();
    }
  }

  function unsent(
    error: unknown,
    envelope: Envelope,
    recipients: readonly RelayedRecipient[],
    content: Progress,
  ): SendResult {
    const reply = verdictIn(error);
    // After a malformed reply, replies can no longer be matched with commands.
    if (!reply) talk.breakOff();
    // If only one recipient was accepted, the reply is about that one.
    const isOfOne = ownOutcomes(envelope, `${host}:${port}`).size === recipients.length - 1;
    const ofTheMail = outcomeOfError(error, `${host}:${port}`, { ...content, isOfOne });
    const outcomes = outcomesOf(envelope, recipients, ofTheMail);
    const isHeard = content.isStarted || outcomes.some(isAnswer);
    return { outcomes, unheard: !isHeard && (reply === undefined ? isLost(error) : reply.code === 421) };
  }

  async function ask(sender: string): Promise<SmtpReply> {
    const text = await talk.step<string>(timings.commandMs, undefined, (done) => askSender(connection, sender, done));
    needsReset = true;
    return replyOf(text);
  }

  setSilence(connection, 0);
  return {
    askSender: ask,
    async send(mail, signal) {
      await mail.lookAgain?.();
      const result = await offeringTheRest(mail, extensions, (recipients) => offer(mail, recipients, signal));
      return { ...result, outcomes: result.outcomes.map((outcome) => ({ ...outcome, server })) };
    },
    close: () => hangUp(connection, talk),
    ended: talk.ended,
    get isUsed() {
      return isUsed;
    },
    get isOpen() {
      return talk.isOpen();
    },
  };
}

function tlsOf({ _socket: socket }: SMTPConnection): string | null {
  return socket instanceof TLSSocket ? socket.getProtocol() : null;
}

/** Parses the reply, because the library treats anything that begins with a 2 as an acceptance. */
function replyOf(text: string): SmtpReply {
  const reply = parseSmtpReply(text);
  if (!reply) throw new Error(`the server's answer is malformed: ${text}`);
  return reply;
}

function acceptanceOf(reply: SmtpReply): RelayOutcome {
  const line = replyAsLine(reply);
  return { kind: "sent", reply: line, providerMessageId: providerMessageIdOf(line) };
}

async function hangUp(connection: SMTPConnection, talk: Conversation): Promise<void> {
  if (!talk.isOpen()) return;
  connection.quit();
  const impatience = setTimeout(() => talk.breakOff(), 1000);
  await talk.ended;
  clearTimeout(impatience);
}

/** Calls `offer` with the recipients that the EHLO reply of the server does not rule out. The others have failed. */
async function offeringTheRest(
  mail: RelayedMail,
  extensions: ReadonlyMap<string, string>,
  offer: (recipients: RelayedRecipient[]) => Promise<SendResult>,
): Promise<SendResult> {
  const refusals = mail.recipients.map((recipient) => refusalBeforehand(mail, recipient, extensions));
  const offered = mail.recipients.filter((_, index) => refusals[index] === undefined);
  const { outcomes, unheard } = offered.length === 0 ? { outcomes: [], unheard: false } : await offer(offered);
  const left = outcomes.values();
  return {
    outcomes: refusals.flatMap((failure) => (failure ? { kind: "failed", failure } : (left.next().value ?? []))),
    unheard,
  };
}

/** The outcome of a failed transaction, for all recipients without an outcome of their own. */
function outcomeOfError(
  error: unknown,
  server: string,
  content: Readonly<Progress> & { isOfOne: boolean },
): RelayOutcome {
  const reply = verdictIn(error);
  if (reply && reply.code >= 500) {
    const isAboutRecipient = content.isOfOne && (error as Partial<SMTPError>).command === "DATA";
    return { kind: "failed", failure: failureOf(reply, reply.text), isAboutRecipient };
  }
  if (isBadEnvelope(error)) return { kind: "failed", failure: badAddress(reasonOf(error)) };
  const message = reply ? reply.text : `Cannot relay by ${server}: ${reasonOf(error)}`;
  return { kind: "retry", failure: failureOf(reply, message), maybeAccepted: content.isSent && reply === undefined };
}

/** Whether the server replied about the mail. Not if there was no reply (null), or a 421, which is about the server. */
function isAnswer(outcome: RelayOutcome): boolean {
  return outcome.kind === "sent" || ![null, 421].includes(outcome.failure.code);
}

/** The slowest speed for content, 16 kB a second. A slower transfer is cut off, even if it never pauses. */
export const minBytesPerMs = 16;

class TlsRefused extends Error {
  constructor(reply: string) {
    super(`the server refuses STARTTLS: ${reply}`);
  }
}

/** Sets the limit of silence before the connection is closed; 0 means no limit, for an idle connection. Returns the socket. */
function setSilence({ _socket: socket }: SMTPConnection, silenceMs: number) {
  if (!socket) return undefined;
  return socket.setTimeout(silenceMs);
}
