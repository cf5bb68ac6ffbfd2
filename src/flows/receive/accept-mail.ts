import { DatabaseUnavailable } from "../../database/db.ts";
import { type Closure, refusesMail } from "../../domain/access/suspension.ts";
import { limitsOf, receivesTooMany, roomForMail } from "../../domain/limits.ts";
import type { ParsedMail } from "../../domain/message.ts";
import { type Envelope, type InboundMail, type MailOutcome, senderInLine } from "../../domain/receive/inbound-mail.ts";
import type { QueueEntry } from "../../mail/read/process-pool.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { isRole, recipientAtHost, recipientOf } from "../../standards/address.ts";
import {
  findAccountsOf,
  findInboxByUsername,
  findReceivedAt,
  type InboxIdentity,
  type ReceivingInbox,
} from "../../store/account/inboxes.ts";
import type { ClosedAccounts } from "../account/closed-accounts.ts";
import type { Deps } from "../deps.ts";
import type { OwnHosts } from "../own-hosts.ts";
import type { Unsubscribing } from "../send/unsubscribe.ts";
import { sizeGate } from "../size-gate.ts";
import { type Addressee, acceptReturned, type ReturnedOutcome } from "./accept-returned.ts";
import { aboutMail, largeBytes, type ReceivedMail, withShownSender } from "./arrival.ts";
import type { Authenticate } from "./authenticate-sender.ts";
import type { InboxOwners } from "./inbox-owners.ts";
import type { ReportReception } from "./receive-report.ts";
import { keepUnparsed } from "./unparsed-mail.ts";

export interface AcceptDeps extends Deps {
  /** Parses a mail. The result is undefined if the parser had no time for it. */
  parse: (raw: Uint8Array, entry: QueueEntry) => Promise<ParsedMail | undefined>;
  authenticate: Authenticate;
  receive: (mail: ReceivedMail) => Promise<MailOutcome>;
  /** Username of the inbox for postmaster and abuse (RFC 5321 §4.5.1). */
  operatorInbox: string | undefined;
  reports: ReportReception;
  unsubscribing: Pick<Unsubscribing, "messageOf" | "byMail">;
  /** Remembers the owners of the inboxes that it reads. */
  owners?: Pick<InboxOwners, "remember"> | undefined;
  /** The suspension of an account by the operator, or its deletion. */
  closureOf?: (accountId: string) => Closure | undefined;
  /** The accounts that are moving to another service, and where to those that have moved. The default is none. */
  moves?: Pick<ClosedAccounts, "moving" | "movedTo">;
  hosts: Pick<OwnHosts, "find">;
  /** Observes the outcome of each mail to a return path. */
  returned?: ((outcome: ReturnedOutcome) => void) | undefined;
}

/** Accepts mail that comes by SMTP, and our own mail to our own domains. */
export interface MailDoor {
  /** Whether mail to an address is accepted, and its inbox. */
  recipient: (address: string) => Promise<RecipientFound>;
  /** Stores a mail. Returns the outcome: `stored` only after the mail is on disk. */
  accept: (mail: InboundMail<Addressee>) => Promise<MailOutcome>;
  /** Forgets the username of a deleted or changed inbox. */
  forget: (username: string) => void;
}

export type RecipientFound =
  /** The mail of one with `isApart` is decided on elsewhere, so it is the only recipient of a mail that comes by SMTP. */
  | ({ kind: "accept"; isApart?: boolean } & FoundInbox)
  | { kind: "return_path"; messageId: string; unsubscribes?: boolean }
  | { kind: "unknown" }
  | ({ kind: "suspended" } & FoundInbox)
  | ({ kind: "disabled" } & FoundInbox)
  | ({ kind: "full" } & FoundInbox)
  | ({ kind: "busy" } & FoundInbox)
  | { kind: "other_domain" };

export interface FoundInbox {
  inboxId: string;
  accountId: string;
}

/** How long the inbox of a username is remembered. A deleted or disabled one does no harm: mail is stored only in inboxes that take it. */
const rememberedMs = 30_000;
const mostRemembered = 50_000;
/** How long an inbox with a quota is remembered. Meanwhile it may get mail in another process, or room may be made. */
const withQuotaMs = 2_000;

/** The most bytes of large mails that are stored at the same time. */
const largeBytesAtOnce = 24 << 20;

/** The inbox of an address, as it is remembered. */
interface Remembered extends Pick<InboxIdentity, "id" | "accountId" | "domainId"> {
  /** The bytes that it may still take; undefined without a quota. */
  room: Room | undefined;
  receivesPerMinute: number;
  disabled: boolean;
}

interface Room {
  left: number;
}

export function mailDoor(deps: AcceptDeps): MailDoor {
  const remembered = passingMemory<string, Remembered>(mostRemembered);
  /** The rooms of the remembered inboxes with a quota, by inbox. */
  const rooms = passingMemory<string, Room>(mostRemembered);
  const gate = sizeGate(largeBytesAtOnce);

  /**
   * Finds the inbox of a username at a domain; null for MAIL_DOMAIN. It remembers inboxes, but not unknown usernames, because their inbox
   * may be created a moment later. For the same reason it does not remember full and disabled inboxes. The inbox of an earlier holder of
   * the domain gets no mail.
   */
  async function inboxOf(username: string, domainId: string | null): Promise<Remembered | undefined> {
    const nowMs = deps.now().getTime();
    const known = remembered.get(username, nowMs);
    if (known?.domainId === domainId && !isFull(known)) return known;
    const read = await findInboxByUsername(deps.db.mail, username);
    if (read !== undefined) deps.owners?.remember(read);
    const inbox = read && withRoom(read);
    if (inbox === undefined || inbox.disabled || isFull(inbox)) remembered.delete(username);
    else {
      const untilMs = nowMs + (inbox.room === undefined ? rememberedMs : withQuotaMs);
      remembered.set(username, inbox, untilMs);
      if (inbox.room !== undefined) rooms.set(inbox.id, inbox.room, untilMs);
    }
    return inbox?.domainId === domainId ? inbox : undefined;
  }

  function withRoom({ id, accountId, domainId, disabled, ...read }: ReceivingInbox): Remembered {
    const limits = limitsOf(deps.limits, read);
    const left = roomForMail(limits, read);
    const { receivesPerMinute } = limits;
    return { id, accountId, domainId, room: left === undefined ? undefined : { left }, receivesPerMinute, disabled };
  }

  /** Takes the size of a mail from the rooms of its inboxes. */
  function takeRoom({ envelope, raw }: InboundMail<Addressee>): void {
    const nowMs = deps.now().getTime();
    for (const recipient of envelope.recipients) {
      const room = "inboxId" in recipient ? rooms.get(recipient.inboxId, nowMs) : undefined;
      if (room !== undefined) room.left -= raw.length;
    }
  }

  /** Finds the recipient at another domain than MAIL_DOMAIN. Mail to a role without an inbox is for the operator. */
  async function recipientElsewhere(address: string): Promise<RecipientFound> {
    const at = recipientAtHost(address);
    const host = at && (await deps.hosts.find(at.host));
    if (at === undefined || host === undefined) return { kind: "other_domain" };
    if (host.hasReturnPaths) return returnPathAt(address) ?? { kind: "unknown" };
    const inbox = at.username === undefined ? undefined : await inboxOf(at.username, host.domainId);
    return found(inbox ?? (isRole(at.user) ? await operatorsInbox() : undefined));
  }

  /** The return path of this address; undefined if it has another form. */
  function returnPathAt(address: string): Promise<RecipientFound> | undefined {
    return deps.reports.isReturnPath(address) ? pathFound(address) : undefined;
  }

  /** Decides by the signature in the address alone, without the database. */
  async function pathFound(address: string): Promise<RecipientFound> {
    const left = await deps.unsubscribing.messageOf(address);
    if (left !== undefined) return { kind: "return_path", messageId: left, unsubscribes: true };
    return returnPathFound(await deps.reports.messageOf(address));
  }

  async function operatorsInbox(): Promise<Remembered | undefined> {
    return deps.operatorInbox === undefined ? undefined : inboxOf(deps.operatorInbox, null);
  }

  /** Whether an inbox got as many mails in the last minute as it may. Mails that are under way do not count yet. */
  async function isBusy({ id, receivesPerMinute }: Remembered): Promise<boolean> {
    if (receivesPerMinute === 0) return false;
    return receivesTooMany(await findReceivedAt(deps.db.mail, id, receivesPerMinute - 1), deps.now());
  }

  async function found(inbox: Remembered | undefined): Promise<RecipientFound> {
    const closure = inbox && deps.closureOf?.(inbox.accountId);
    if (inbox === undefined || closure === "deleted") return { kind: "unknown" };
    const owner = { inboxId: inbox.id, accountId: inbox.accountId };
    // The cell to which it has moved decides about the mail (forward-mail.ts).
    if (deps.moves?.movedTo(inbox.accountId) !== undefined) return { kind: "accept", ...owner, isApart: true };
    if (inbox.disabled) return { kind: "disabled", ...owner };
    if (refusesMail(closure)) return { kind: "suspended", ...owner };
    if (isFull(inbox)) return { kind: "full", ...owner };
    return { kind: (await isBusy(inbox)) ? "busy" : "accept", ...owner };
  }

  // A mail to a return path is authenticated only if it turns out to be no report.
  const returning = {
    ...deps,
    store: async (received: ReceivedMail) => {
      const authentication = await deps.authenticate(received);
      return storeParsed({ ...received, authentication });
    },
  };

  function returnPathFound(messageId: string | undefined): RecipientFound {
    if (messageId !== undefined) return { kind: "return_path", messageId };
    deps.returned?.("refused");
    return { kind: "unknown" };
  }

  return {
    async recipient(address) {
      const recipient = recipientOf(address, deps.mailDomain);
      if (recipient.kind === "other_domain") return recipientElsewhere(address);
      if (recipient.kind === "unknown") return { kind: "unknown" };
      return (
        returnPathAt(address) ??
        found(recipient.kind === "role" ? await operatorsInbox() : await inboxOf(recipient.username, null))
      );
    },
    async accept(inbound) {
      takeRoom(inbound);
      try {
        if (!isForInboxes(inbound)) return await gated(inbound, () => acceptReturned(returning, inbound));
        const [mail, authentication] = await Promise.all([
          deps.parse(inbound.raw, { sender: senderInLine(inbound.envelope) }),
          deps.authenticate(inbound),
        ]);
        if (mail === undefined) return await gated(inbound, () => keepUnparsed(deps, inbound));
        return await gated(inbound, () => storeParsed({ ...inbound, mail, authentication }));
      } catch (error) {
        if (error instanceof DatabaseUnavailable && error.isUnanswered) logUnknown(inbound, error);
        throw error;
      }
    },
    forget: (username) => void remembered.delete(username),
  };

  /** Stores a mail, unless its account moves; a large one waits until the gate has room for it. */
  function gated(inbound: InboundMail<Addressee>, store: () => Promise<MailOutcome>): Promise<MailOutcome> {
    const { length } = inbound.raw;
    const storeHere = async () => {
      const moving = deps.moves?.moving();
      const isMoving = moving !== undefined && moving.size > 0 && (await concerns(inbound, moving));
      return isMoving ? ("unavailable" as const) : store();
    };
    return length > largeBytes ? gate(length, () => collected(storeHere)) : storeHere();
  }

  /**
   * Whether an inbox of the mail, or that of the message of its return path, belongs to one of these accounts. RCPT may have been minutes ago,
   * and a mail that is stored after the last export of its account would be lost.
   */
  async function concerns({ envelope }: InboundMail<Addressee>, accountIds: ReadonlySet<string>): Promise<boolean> {
    const found = await findAccountsOf(deps.db.mail, idsIn(envelope));
    return [...found.values()].some((id) => accountIds.has(id));
  }

  /**
   * Logs a mail that may have been stored. Its sender gets 451 and sends it again. If the first one was stored, the second one counts as a
   * copy and is dropped.
   */
  function logUnknown({ envelope, raw }: InboundMail<Addressee>, err: Error): void {
    const inboxes = envelope.recipients.flatMap((recipient) => ("inboxId" in recipient ? recipient.inboxId : []));
    deps.log.warn(
      { err, inboxes, size_bytes: raw.length },
      "mail refused for now, and it may be stored all the same: the database did not answer",
    );
  }

  async function storeParsed(parsed: ReceivedMail): Promise<MailOutcome> {
    const received = withShownSender(parsed);
    const outcome = await deps.receive(received);
    deps.log.info({ ...aboutMail(received), outcome }, "mail received");
    return outcome;
  }
}

/** The ids of the inboxes of a mail, and of the messages whose return paths it came to. */
export function idsIn({ recipients }: Envelope<Addressee>): { inboxIds: string[]; messageIds: string[] } {
  return {
    inboxIds: recipients.flatMap((one) => ("inboxId" in one ? one.inboxId : [])),
    messageIds: recipients.flatMap((one) => ("messageId" in one ? one.messageId : [])),
  };
}

function isFull({ room }: Remembered): boolean {
  return room !== undefined && room.left <= 0;
}

/** Whether the mail is for inboxes only, and not for a return path. */
function isForInboxes(inbound: InboundMail<Addressee>): inbound is InboundMail {
  return inbound.envelope.recipients.every((recipient) => "inboxId" in recipient);
}

/**
 * Collects garbage after the work. The copies of a mail are bytes outside the JavaScript heap, which the collector notices too late:
 * without this, eight mails of 10 MB took 480 MB.
 */
async function collected<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    Bun.gc(true);
  }
}
