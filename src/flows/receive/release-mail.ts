import type { Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import type { ParsedMail } from "../../domain/message.ts";
import type { MailOutcome } from "../../domain/receive/inbound-mail.ts";
import { lockQuarantined, markReleased, type QuarantinedMail } from "../../store/mail/quarantine.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { storedMail } from "../read/stored-pieces.ts";
import { sizeGate } from "../size-gate.ts";
import { largeBytes, type ReceivedMail, type Release } from "./arrival.ts";
import { ownedQuarantined } from "./manage-quarantine.ts";

export interface ReleasingDeps extends Deps {
  /** Parses a mail. If it cannot be read in time, the result has only its header. */
  parse: (raw: Uint8Array) => Promise<ParsedMail>;
  /** Files a mail, without judging it again. */
  file: (mail: ReceivedMail) => Promise<MailOutcome>;
}

/** The message that a quarantined mail became. */
export interface ReleasedMail {
  messageId: string;
  threadId: string;
}

export type ReleaseMail = (caller: ActorIn & Reach, id: string) => Promise<ReleasedMail>;

/** The most bytes of large mails that are released at the same time. */
const largeBytesAtOnce = 24 << 20;

/**
 * Makes the function that releases quarantined mail: it becomes a message of its inbox, dated now. The message and the mark that it was
 * released are one transaction, which locks the quarantined mail: a second release, at the same time or later, finds the first one's message.
 */
export function mailReleaser(deps: ReleasingDeps): ReleaseMail {
  const gate = sizeGate(largeBytesAtOnce);

  return async ({ actor, ...reach }, id) => {
    const kept = await ownedQuarantined(deps, reach, id);
    const before = releasedAs(kept);
    if (before !== undefined) return before;
    const work = () => release(deps, { actor, accountId: reach.accountId }, kept);
    return kept.sizeBytes > largeBytes ? gate(kept.sizeBytes, work) : work();
  };
}

async function release(deps: ReleasingDeps, caller: ActorIn, kept: QuarantinedMail): Promise<ReleasedMail> {
  const raw = await storedMail(deps.db.api, kept);
  if (raw === undefined) throw notFound("quarantined_mail");
  const mail = await deps.parse(raw);
  const { inboxId, toAddr, envelopeFrom, client, authentication, spam } = kept;
  const envelope = { from: envelopeFrom, recipients: [{ toAddr, inboxId }], client: client ?? undefined };
  let released: ReleasedMail | undefined;
  try {
    await deps.file({
      envelope,
      raw,
      mail,
      authentication: authentication ?? undefined,
      opinion: { action: "take", spam: spam ?? undefined },
      release: releaseOf(deps, caller, kept, (message) => {
        released = message;
      }),
    });
  } catch (error) {
    if (error instanceof ReleasedBefore) return error.released;
    throw error;
  }
  if (released === undefined) throw notFound("quarantined_mail");
  const about = { account_id: caller.accountId, inbox_id: inboxId, quarantined_id: kept.id };
  deps.log.info({ ...about, message_id: released.messageId }, "mail released");
  return released;
}

/** Thrown if another request has released the mail meanwhile. */
class ReleasedBefore extends Error {
  readonly released: ReleasedMail;

  constructor(released: ReleasedMail) {
    super();
    this.released = released;
  }
}

function releaseOf(
  deps: Deps,
  { accountId, actor }: ActorIn,
  { id, inboxId }: QuarantinedMail,
  onReleased: (released: ReleasedMail) => void,
): Release {
  return {
    async begin(tx) {
      const locked = await lockQuarantined(tx, id);
      if (locked === undefined) throw notFound("quarantined_mail");
      const before = releasedAs(locked);
      if (before !== undefined) throw new ReleasedBefore(before);
    },
    async end(tx, message) {
      const released = { messageId: message.id, threadId: message.threadId };
      await markReleased(tx, { id, ...released });
      const target = { type: "quarantined_mail", id } as const;
      const details = { message_id: message.id, inbox_id: inboxId };
      await audit(tx, deps, deps.now(), { action: "quarantine.released", accountId, actor, target, details });
      onReleased(released);
    },
  };
}

function releasedAs({ messageId, threadId }: QuarantinedMail): ReleasedMail | undefined {
  return messageId === null || threadId === null ? undefined : { messageId, threadId };
}
