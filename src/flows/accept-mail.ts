import { recipientOf } from "../domain/address.ts";
import type { ParsedMail } from "../domain/message.ts";
import { findInboxByUsername } from "../store/inboxes.ts";
import { greatBytes, type ReceivedMail } from "./arrival.ts";
import type { Deps } from "./deps.ts";
import type { Receipt } from "./file-arrivals.ts";
import { turns } from "./turns.ts";

export interface AcceptDeps extends Deps {
  parse: (raw: Uint8Array) => Promise<ParsedMail>;
  receive: (mail: ReceivedMail) => Promise<Receipt>;
  /** Username of the inbox that takes mail for postmaster and abuse (RFC 5321 §4.5.1). */
  operatorInbox: string | undefined;
}

export interface IncomingMail {
  /** Accepted addresses, as their sender wrote them. */
  recipients: readonly string[];
  raw: Uint8Array;
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
  const remembered = new Map<string, { inboxId: string; untilMs: number }>();
  const inTurn = turns(greatBytesAtOnce);

  /** Never remembers an unknown name: the inbox may be made the moment after. */
  async function inboxIdOf(username: string): Promise<string | undefined> {
    const nowMs = deps.now().getTime();
    const known = remembered.get(username);
    if (known !== undefined && known.untilMs > nowMs) return known.inboxId;
    const inbox = await findInboxByUsername(deps.db.mail, username);
    if (remembered.size >= mostRemembered) remembered.clear();
    if (inbox === undefined) remembered.delete(username);
    else remembered.set(username, { inboxId: inbox.id, untilMs: nowMs + rememberedMs });
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
    async accept(mail) {
      return mail.raw.length > greatBytes ? inTurn(mail.raw.length, () => fileGreat(mail)) : file(mail);
    },
    forget: (username) => void remembered.delete(username),
  };

  /** Its copies are no objects but bytes, of which the collector learns too late: eight mails of 10 MB took 480 MB. */
  async function fileGreat(mail: IncomingMail): Promise<{ kind: Receipt }> {
    try {
      return await file(mail);
    } finally {
      Bun.gc(true);
    }
  }

  async function file({ recipients, raw }: IncomingMail): Promise<{ kind: Receipt }> {
    const [mail, found] = await Promise.all([deps.parse(raw), Promise.all(recipients.map(find))]);
    const inboxes = recipients.flatMap((toAddr, index) => {
      const inboxId = found[index];
      return inboxId === undefined || inboxId === "unknown" || inboxId === "other_domain" ? [] : [{ inboxId, toAddr }];
    });
    if (inboxes.length === 0) return { kind: "gone" };
    const kind = await deps.receive({ mail, raw, recipients: inboxes });
    deps.log.info(
      {
        rfc_message_id: mail.messageId,
        inboxes: inboxes.map(({ inboxId }) => inboxId),
        size_bytes: raw.length,
        outcome: kind,
      },
      "mail received",
    );
    return { kind };
  }
}
