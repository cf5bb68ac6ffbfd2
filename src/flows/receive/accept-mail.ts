import type { ParsedMail } from "../../domain/message.ts";
import type { Receipt } from "../../domain/receive/file-mails.ts";
import type { Turn } from "../../mail/read/process-pool.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { recipientOf } from "../../standards/address.ts";
import { findInboxByUsername } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";
import { turns } from "../turns.ts";
import { aboutMail, greatBytes, type ReceivedMail, type Recipient } from "./arrival.ts";
import { keepUnparsed } from "./unparsed-mail.ts";

export interface AcceptDeps extends Deps {
  /** Undefined where the mail had no turn in time. */
  parse: (raw: Uint8Array, turn: Turn) => Promise<ParsedMail | undefined>;
  receive: (mail: ReceivedMail) => Promise<Receipt>;
  /** Username of the inbox that takes mail for postmaster and abuse (RFC 5321 §4.5.1). */
  operatorInbox: string | undefined;
}

export interface IncomingMail {
  /** The reverse-path, "" for a bounce. */
  envelopeFrom: string;
  /** Accepted addresses, as their sender wrote them. */
  recipients: readonly string[];
  raw: Uint8Array;
  /** Whose turn it is when it has to wait: what of the network one sender may have to himself. */
  remoteNetwork: string;
}

/** The way in: of the SMTP listener, and of our own mail to our own domain. */
export interface MailEntrance {
  recipient: (address: string) => Promise<{ kind: "accept" | "unknown" | "other_domain" }>;
  /** Resolves when the mail is on disk, or is for nobody any more. */
  accept: (mail: IncomingMail) => Promise<{ kind: Receipt }>;
  /** Forgets a name whose inbox was deleted. */
  forget: (username: string) => void;
}

/** A name that is remembered too long does no harm: a mail is filed behind a lock that sees the inbox as it is. */
const rememberedMs = 30_000;
const mostRemembered = 50_000;

/** So few great mails are at it together. */
const greatBytesAtOnce = 24 << 20;

export function mailEntrance(deps: AcceptDeps): MailEntrance {
  const remembered = passingMemory<string, string>(mostRemembered);
  const inTurn = turns(greatBytesAtOnce);

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

  async function find(address: string): Promise<string | "unknown" | "other_domain"> {
    const recipient = recipientOf(address, deps.mailDomain);
    if (recipient.kind === "other_domain" || recipient.kind === "unknown") return recipient.kind;
    const username = recipient.kind === "role" ? deps.operatorInbox : recipient.username;
    return (username !== undefined && (await inboxIdOf(username))) || "unknown";
  }

  return {
    async recipient(address) {
      const found = await find(address);
      return { kind: found === "unknown" || found === "other_domain" ? found : "accept" };
    },
    async accept(incoming) {
      const { raw, remoteNetwork: sender } = incoming;
      const [mail, recipients] = await Promise.all([deps.parse(raw, { sender }), inboxesOf(incoming.recipients)]);
      if (recipients.length === 0) return { kind: "gone" };
      const store = () =>
        mail === undefined
          ? keepUnparsed(deps, { ...incoming, recipients })
          : file({ envelopeFrom: incoming.envelopeFrom, mail, raw, recipients });
      return { kind: await (raw.length > greatBytes ? inTurn(raw.length, () => collected(store)) : store()) };
    },
    forget: (username) => void remembered.delete(username),
  };

  async function inboxesOf(addresses: readonly string[]): Promise<Recipient[]> {
    const found = await Promise.all(addresses.map(find));
    return addresses.flatMap((toAddr, index) => {
      const inboxId = found[index];
      return inboxId === undefined || inboxId === "unknown" || inboxId === "other_domain" ? [] : [{ inboxId, toAddr }];
    });
  }

  async function file(received: ReceivedMail): Promise<Receipt> {
    const receipt = await deps.receive(received);
    deps.log.info({ ...aboutMail(received), outcome: receipt }, "mail received");
    return receipt;
  }
}

/** Its copies are no objects but bytes, of which the collector learns too late: eight mails of 10 MB took 480 MB. */
async function collected<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    Bun.gc(true);
  }
}
