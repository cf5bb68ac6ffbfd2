import { DatabaseUnavailable } from "../../database/db.ts";
import type { ParsedMail } from "../../domain/message.ts";
import type { Receipt } from "../../domain/receive/file-mails.ts";
import { type InboundMail, senderInLine } from "../../domain/receive/inbound-mail.ts";
import type { QueueEntry } from "../../mail/read/process-pool.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { recipientOf } from "../../standards/address.ts";
import { findInboxByUsername } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";
import { sizeGate } from "../size-gate.ts";
import { aboutMail, largeBytes, type ReceivedMail } from "./arrival.ts";
import type { ReportReception } from "./receive-report.ts";
import { type Addressee, acceptReturned, type ReturnedOutcome } from "./returned-mail.ts";
import { keepUnparsed } from "./unparsed-mail.ts";

export interface AcceptDeps extends Deps {
  /** Undefined where the mail had no turn in time. */
  parse: (raw: Uint8Array, entry: QueueEntry) => Promise<ParsedMail | undefined>;
  receive: (mail: ReceivedMail) => Promise<Receipt>;
  /** Username of the inbox that takes mail for postmaster and abuse (RFC 5321 §4.5.1). */
  operatorInbox: string | undefined;
  reports: ReportReception;
  /** Told what came of each mail to a return path. */
  returned?: ((outcome: ReturnedOutcome) => void) | undefined;
}

/** The door of the SMTP listener, and of our own mail to our own domain. */
export interface MailDoor {
  /** Whether mail for an address is taken, and the inbox that it means. */
  recipient: (address: string) => Promise<RecipientFound>;
  /** Resolves when the mail is on disk, or is for nobody any more, or is left with its sender. */
  accept: (mail: InboundMail<Addressee>) => Promise<{ kind: Receipt | "unavailable" }>;
  /** Forgets a name whose inbox was deleted. */
  forget: (username: string) => void;
}

export type RecipientFound =
  | { kind: "accept"; inboxId: string }
  | { kind: "return_path"; messageId: string }
  | { kind: "unknown" }
  | { kind: "other_domain" };

/** A name that is remembered too long does no harm: a mail is stored only where its inbox lives. */
const rememberedMs = 30_000;
const mostRemembered = 50_000;

/** So few large mails are at it together. */
const largeBytesAtOnce = 24 << 20;

export function mailDoor(deps: AcceptDeps): MailDoor {
  const remembered = passingMemory<string, string>(mostRemembered);
  const gated = sizeGate(largeBytesAtOnce);

  /** Never remembers an unknown name: the inbox may be made the moment after. */
  async function inboxIdOf(username: string): Promise<string | undefined> {
    const nowMs = deps.now().getTime();
    const known = remembered.get(username, nowMs);
    if (known !== undefined) return known;
    const inbox = await findInboxByUsername(deps.db.mail, username);
    if (inbox === undefined) remembered.delete(username);
    else remembered.set(username, inbox.id, nowMs + rememberedMs);
    return inbox?.id;
  }

  /** Parsed before it stands at the gate. */
  async function takeForInboxes(inbound: InboundMail): Promise<() => Promise<Receipt>> {
    const mail = await deps.parse(inbound.raw, { sender: senderInLine(inbound.envelope) });
    return () => (mail === undefined ? keepUnparsed(deps, inbound) : storeParsed({ ...inbound, mail }));
  }

  const returning = { ...deps, store: storeParsed };

  function returnPathFound(messageId: string | undefined): RecipientFound {
    if (messageId !== undefined) return { kind: "return_path", messageId };
    deps.returned?.("refused");
    return { kind: "unknown" };
  }

  return {
    async recipient(address) {
      const recipient = recipientOf(address, deps.mailDomain);
      if (recipient.kind === "other_domain" || recipient.kind === "unknown") return { kind: recipient.kind };
      if (deps.reports.isReturnPath(address)) return returnPathFound(await deps.reports.messageOf(address));
      const username = recipient.kind === "role" ? deps.operatorInbox : recipient.username;
      const inboxId = username === undefined ? undefined : await inboxIdOf(username);
      return inboxId === undefined ? { kind: "unknown" } : { kind: "accept", inboxId };
    },
    async accept(inbound) {
      const { raw } = inbound;
      const take = isForInboxes(inbound) ? await takeForInboxes(inbound) : () => acceptReturned(returning, inbound);
      try {
        return { kind: await (raw.length > largeBytes ? gated(raw.length, () => collected(take)) : take()) };
      } catch (error) {
        if (error instanceof DatabaseUnavailable && error.isUnanswered) tellUnknown(inbound, error);
        throw error;
      }
    },
    forget: (username) => void remembered.delete(username),
  };

  /** The sender gets 451 and sends the mail again, which is then a copy where this one is stored after all. */
  function tellUnknown({ envelope, raw }: InboundMail<Addressee>, err: Error): void {
    const inboxes = envelope.recipients.flatMap((recipient) => ("inboxId" in recipient ? recipient.inboxId : []));
    deps.log.warn(
      { err, inboxes, size_bytes: raw.length },
      "mail refused for now, and it may be stored all the same: the database did not answer",
    );
  }

  async function storeParsed(received: ReceivedMail): Promise<Receipt> {
    const receipt = await deps.receive(received);
    deps.log.info({ ...aboutMail(received), outcome: receipt }, "mail received");
    return receipt;
  }
}

/** As all mail but that which comes back. */
function isForInboxes(inbound: InboundMail<Addressee>): inbound is InboundMail {
  return inbound.envelope.recipients.every((recipient) => "inboxId" in recipient);
}

/** Its copies are no objects but bytes, of which the collector learns too late: eight mails of 10 MB took 480 MB. */
async function collected<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    Bun.gc(true);
  }
}
