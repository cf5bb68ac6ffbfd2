import type { Socket } from "node:net";
import type { SMTPServer } from "smtp-server";
import type { SMTPConnectionOptions } from "smtp-server/lib/smtp-connection.js";
import { parseRecipient, parseSender } from "./address-command.ts";
import type { AcceptedRecipient, InboundMail, Origin, RecipientDecision, SmtpDoor, SmtpObserver } from "./door.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { type Reply, reply, replyToMail, replyToRecipient, tooBig } from "./replies.ts";
import { ReplyingConnection } from "./replying-connection.ts";
import type { SmtpLimits } from "./smtp-limits.ts";
import type { CommandParser } from "./smtp-server-inside.ts";
import { loneDot, startTransfer, type Transfer } from "./transfer.ts";

/** State that all sessions of a listener share. */
export interface Shared {
  readonly door: SmtpDoor;
  readonly limits: SmtpLimits;
  readonly maxBytes: number;
  readonly memory: MemoryBudget;
  readonly observe: SmtpObserver;
  originOf(address: string): Origin;
  /**
   * Whether this is a proxy (`uncountedAddresses`). Its network has no limit on memory, because many clients connect through it.
   */
  isProxy(origin: Origin): boolean;
  /** Counts a mail of a client. Returns false if its network has sent too many in this minute. */
  takesMail(origin: Origin): boolean;
  /** Whether the listener has begun to stop. Sessions then take no further command. */
  draining: boolean;
  /** Called when a session ends. */
  ended(): void;
  /** Called when the socket of a session is closed. */
  left(session: MailConnection): void;
}

/** One mail transaction, from MAIL to the reply to its final dot (RFC 5321 §3.3). */
interface Transaction {
  readonly from: string;
  readonly recipients: AcceptedRecipient[];
  /** The addresses of `recipients` in lower case. A mail goes only once to an address that was given twice. */
  readonly known: Set<string>;
  /** Whether its only recipient has a mail of its own. */
  isApart: boolean;
  readonly startedAtMs: number;
}

/** A call of the door that is under way. */
interface Question {
  readonly untilMs: number;
  giveUp(): void;
}

type Done = () => void;
/**
 * The most octets of a mail that are read before other sessions run. To read this many takes only milliseconds, even if the mail was made
 * to be slow to read.
 */
const turnBytes = 64 << 10;
const unavailable = { kind: "unavailable" } as const;
const oneReturnPath = reply(
  452,
  "4.5.3",
  "Only one return path for each mail: send the others in separate mails",
  "too_many_recipients",
);
const apart = reply(452, "4.5.3", "Send this recipient a mail of its own", "too_many_recipients");
const tooManyMails = reply(451, "4.7.1", "Too many mails from your address, try again later", "mails_per_address");
const shuttingDown = reply(421, "4.3.2", "Shutting down, try again later");

/**
 * A session with one client. The library smtp-server handles the socket, the greeting, the commands and STARTTLS. This class handles the
 * mail commands, DATA and the deadlines. It is a class because smtp-server is extended by classes.
 */
export class MailConnection extends ReplyingConnection {
  readonly origin: Origin;
  readonly #shared: Shared;
  #mail: Transaction | undefined;
  #transfer: Transfer | undefined;
  #question: Question | undefined;
  #refusedRecipients = 0;
  #commandSeen = false;
  /**
   * The time of the last complete command, or of the last answer of the door. Single octets do not change it, so they do not keep a session
   * alive.
   */
  #doneAtMs = performance.now();
  #left = false;

  constructor(server: SMTPServer, socket: Socket, options: SMTPConnectionOptions, shared: Shared) {
    super(server, socket, options);
    this.#shared = shared;
    this.origin = shared.originOf(this.remoteAddress);
  }

  protected override takesCommand(): boolean {
    if (this.#shared.draining) {
      this.endWith(shuttingDown);
      return false;
    }
    this.#commandSeen = true;
    this.#doneAtMs = performance.now();
    return true;
  }

  override handler_MAIL(command: Buffer, callback: Done): void {
    const sender = parseSender(command.toString(), this.#shared.maxBytes);
    if (this.#mail !== undefined) this.answer(reply(503, "5.5.1", "A mail is already begun"));
    else if (typeof sender !== "string") this.answer(sender);
    else if (!this.#shared.takesMail(this.origin)) this.answer(tooManyMails);
    else {
      this.#mail = { from: sender, recipients: [], known: new Set(), isApart: false, startedAtMs: performance.now() };
      this.answer(reply(250, "2.1.0", "Ok"));
    }
    callback();
  }

  override handler_RCPT(command: Buffer, callback: Done): void {
    const { door, limits } = this.#shared;
    const mail = this.#mail;
    const recipient = parseRecipient(command.toString());
    if (mail === undefined) this.answer(reply(503, "5.5.1", "Send MAIL first"));
    else if (typeof recipient !== "string") this.#answerRecipient(recipient);
    else if (mail.recipients.length >= limits.maxRecipients && !mail.known.has(recipient.toLowerCase())) {
      this.answer(reply(452, "4.5.3", "Too many recipients", "too_many_recipients"));
    } else {
      const ask = () => door.recipient(recipient);
      this.#ask("recipient", ask, limits.recipientMs, (decision) => {
        this.#answerRecipient(takeRecipient(mail, recipient, decision));
        callback();
      });
      return;
    }
    callback();
  }

  override handler_DATA(command: Buffer, callback: Done): void {
    const mail = this.#mail;
    const { parser } = this;
    if (command.toString().trim().length > "DATA".length) this.answer(reply(501, "5.5.4", "Syntax: DATA"));
    else if (mail === undefined) this.answer(reply(503, "5.5.1", "Send MAIL first"));
    else if (mail.recipients.length === 0) this.answer(reply(554, "5.5.1", "No valid recipients"));
    else if (parser !== undefined) {
      const network = this.#shared.isProxy(this.origin) ? undefined : this.origin.network;
      const transfer = startTransfer({ ...this.#shared, network });
      this.#transfer = transfer;
      parser.startData((chunk, done) => this.#takeData(mail, transfer, parser, chunk, done));
      this.answer(reply(354, "", "End data with <CR><LF>.<CR><LF>"));
    }
    callback();
  }

  #takeData(mail: Transaction, transfer: Transfer, parser: CommandParser, chunk: Buffer, done: Done): void {
    if (this.isClosing || this.#left) return;
    const piece = chunk.subarray(0, turnBytes);
    const end = transfer.take(piece);
    if (end !== -1) {
      this.#takeMail(mail, transfer, () => parser.endData(chunk.subarray(end), done));
    } else if (transfer.isEndless) {
      this.cutOff(tooBig(this.#shared.maxBytes, "endless"));
    } else {
      const rest = chunk.subarray(piece.length);
      transfer.readOn(rest.length === 0 ? done : () => this.#takeData(mail, transfer, parser, rest, done));
    }
  }

  /** Passes a complete mail to the door. This is the only way to store a mail, and the only source of its 250. */
  #takeMail(mail: Transaction, transfer: Transfer, resume: Done): void {
    const { door, limits, observe } = this.#shared;
    const result = transfer.result();
    if ("fault" in result) {
      this.answer(result.fault);
      if (result.fault === loneDot) this.close();
      else this.#endMail(resume);
      return;
    }
    const client = {
      address: this.remoteAddress,
      network: this.origin.network,
      heloName: this.hostNameAppearsAs === false ? "" : this.hostNameAppearsAs,
      secure: this.secure,
      isProxy: this.#shared.isProxy(this.origin),
    };
    const envelope = { from: mail.from, recipients: mail.recipients, client };
    const inbound: InboundMail = { envelope, raw: result.raw };
    const ask = () => door.accept(inbound);
    this.#ask("accept", ask, limits.acceptMs, (decision) => {
      if (decision.kind === "stored") observe.accepted?.(inbound.raw.length);
      this.answer(replyToMail(decision));
      this.#endMail(resume);
    });
  }

  #endMail(resume: Done): void {
    this.endMail();
    if (this.#shared.draining) this.endWith(shuttingDown);
    else resume();
  }

  protected override mailForgotten(): void {
    this.#mail = undefined;
    this.#endTransfer();
  }

  override close(): void {
    super.close();
    // The memory of a mail that the door has stays reserved until the door answers.
    if (this.#question === undefined) this.#endTransfer();
    this.#shared.ended();
  }

  /** Called when the socket is closed. A mail that is not complete by then is not stored. */
  protected override socketGone(): void {
    if (this.#left) return;
    this.#left = true;
    if (this.#question === undefined) this.#endTransfer();
    this.#shared.left(this);
  }

  /**
   * Called when TLS fails, for example because the client rejects our certificate. It counts as a refusal, not as a fault of the service.
   */
  protected override tlsFailed(): void {
    if (this.isClosing || this.#left) return;
    this.#shared.observe.refused?.("tls");
    this.close();
    this.destroy();
  }

  #endTransfer(): void {
    this.#transfer?.release();
    this.#transfer = undefined;
  }

  /**
   * Calls the door by `ask`, and passes its decision to `then`. An exception, a rejection or no decision within `waitMs` is `unavailable`,
   * and never a permanent refusal.
   */
  #ask<A extends { kind: string }>(
    during: "recipient" | "accept",
    ask: () => Promise<A>,
    waitMs: number,
    then: (decision: A | typeof unavailable) => void,
  ): void {
    let settled = false;
    const settle = (decision: A | typeof unavailable): void => {
      if (settled) return;
      settled = true;
      this.#question = undefined;
      this.#doneAtMs = performance.now();
      if (this.#left) this.#endTransfer();
      else if (!this.isClosing) then(decision);
    };
    const fail = (error: unknown): void => {
      this.#shared.observe.fault?.(error, during);
      settle(unavailable);
    };
    const giveUp = () => fail(new Error(`Cannot answer ${during}: the door did not decide within ${waitMs} ms`));
    this.#question = { untilMs: performance.now() + waitMs, giveUp };
    // Writes the replies to earlier commands, so that they do not wait for the door.
    this.flushSoon();
    try {
      ask()
        .then(settle, fail)
        .catch((error) => this.destroy(error));
    } catch (error) {
      fail(error);
    }
  }

  /** Answers RCPT. Ends the session after too many refused recipients, because the client guesses names or has an old list. */
  #answerRecipient(answer: Reply): void {
    if (answer.code >= 500) this.#refusedRecipients += 1;
    if (this.#refusedRecipients < this.#shared.limits.maxRefusedRecipients) this.answer(answer);
    else this.endWith(reply(421, "4.7.0", "Too many recipients were refused", "refused_recipients"));
  }

  /** Sends a reply, and counts it if it is a refusal. The replies of the library are sent here too. */
  override answer(answer: Reply): void {
    if (answer.reason !== undefined) this.#shared.observe.refused?.(answer.reason);
    super.answer(answer);
  }

  /** Ends the session if it is past a deadline. Called by the listener's sweep, and when the listener begins to stop. */
  check(nowMs: number): void {
    if (this.isClosing || this.#left) return;
    const { limits, draining } = this.#shared;
    const isFresh = !this.#commandSeen || this.isUpgrading;
    if (this.#question !== undefined) {
      if (nowMs >= this.#question.untilMs) this.#question.giveUp();
    } else if (this.#mail !== undefined && nowMs - this.#mail.startedAtMs >= limits.transactionMs) {
      this.#timeOut("The mail took too long");
    } else if (this.#transfer !== undefined) {
      if (this.#transfer.isTooSlow(nowMs)) this.#timeOut("The mail comes too slowly");
    } else if (draining) {
      this.endWith(shuttingDown);
    } else if (nowMs - this.#doneAtMs >= (isFresh ? limits.firstCommandMs : limits.idleMs)) {
      this.#timeOut("No command for too long");
    }
  }

  /** Ends the session at once with 421, even in the middle of a mail. */
  endNow(): void {
    if (!this.isClosing) this.endWith(shuttingDown);
  }

  #timeOut(text: string): void {
    this.cutOff(reply(421, "4.4.2", text, "timeout"));
  }
}

function takeRecipient(mail: Transaction, toAddr: string, decision: RecipientDecision): Reply {
  if (mail.isApart && (decision.kind === "accept" || decision.kind === "return_path"))
    return mail.known.has(toAddr.toLowerCase()) ? replyToRecipient(decision) : apart;
  if (decision.kind === "accept") {
    const { inboxId, isApart = false } = decision;
    if (mail.recipients.length > 0 && isApart) return apart;
    mail.isApart = isApart;
    addRecipient(mail, { toAddr, inboxId });
  }
  if (decision.kind === "return_path") {
    const { kind: _kind, ...path } = decision;
    // A mail may have only one return path: it is stored with the message of each, so a mail to hundreds would be stored hundreds of times.
    if (mail.recipients.some((other) => "messageId" in other && other.messageId !== path.messageId))
      return oneReturnPath;
    addRecipient(mail, { toAddr, ...path });
  }
  return replyToRecipient(decision);
}

function addRecipient({ recipients, known }: Transaction, recipient: AcceptedRecipient): void {
  const name = recipient.toAddr.toLowerCase();
  if (!known.has(name)) recipients.push(recipient);
  known.add(name);
}
