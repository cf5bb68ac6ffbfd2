import { type Db, transaction } from "../../database/db.ts";
import { service } from "../../domain/access/actor.ts";
import { Refusal } from "../../domain/errors.ts";
import type { UnsubscribeNames, UnsubscribeWay } from "../../domain/reports/unsubscribing.ts";
import { suppressedForm } from "../../domain/send/suppressed.ts";
import { splitAddress } from "../../standards/address.ts";
import { findSoleRecipient, insertUnsubscription, type SoleRecipient } from "../../store/send/unsubscribing.ts";
import type { ClosedAccounts } from "../account/closed-accounts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

export interface UnsubscribeDeps extends Deps {
  names: UnsubscribeNames;
  /** Observes each recipient who was not suppressed before. */
  unsubscribed?: ((way: UnsubscribeWay) => void) | undefined;
  /** The accounts that are moving to another cell, and where to those that have moved. The default is none. */
  moves?: Pick<ClosedAccounts, "moving" | "movedTo">;
  /** Unsubscribes the recipient whom a token names in the cell with this host. Returns false if that cell does not. */
  unsubscribeIn?: ((host: string, token: string) => Promise<boolean>) | undefined;
}

/** Ends the mail of an inbox to the recipient of one of its messages. To repeat it changes nothing. */
export interface Unsubscribing {
  /** The recipient whom a token names. Undefined if its signature is wrong, or if the message or its inbox was deleted. */
  recipientOf(token: string): Promise<SoleRecipient | undefined>;
  /** Unsubscribes the recipient whom a token names. */
  byToken(token: string): Promise<SoleRecipient | undefined>;
  /** The message of an address to unsubscribe; undefined if its signature is wrong. It does not read the database. */
  messageOf(address: string): Promise<string | undefined>;
  /** Unsubscribes the recipient of a message, to whose address a mail came. Returns false if it was deleted. */
  byMail(messageId: string): Promise<boolean>;
}

export function unsubscribing(deps: UnsubscribeDeps): Unsubscribing {
  const { names, db } = deps;

  /** Looks the message up even if the signature is wrong, so that the time of the answer does not show which messages exist. */
  async function found(token: string) {
    const named = await names.readToken(token);
    const recipient = named && (await findSoleRecipient(db.api, named.messageId));
    return named?.isOurs === true && recipient !== undefined ? { messageId: named.messageId, recipient } : undefined;
  }

  /** Passes the request on to the cell to which the account has moved. A link of RFC 8058 must not redirect (§3.2). */
  async function elsewhere(accountId: string, token: string): Promise<true> {
    const host = deps.moves?.movedTo(accountId);
    if (host !== undefined && (await deps.unsubscribeIn?.(host, token)) === true) return true;
    throw new Refusal("service_unavailable", "Cannot unsubscribe: the account moves to another service", {
      retryAfterSeconds: 30,
    });
  }

  return {
    recipientOf: async (token) => (await found(token))?.recipient,
    async byToken(token) {
      const asked = await found(token);
      if (asked === undefined) return undefined;
      const { accountId } = asked.recipient;
      const isMoving = deps.moves?.moving().has(accountId) === true;
      const isDone = isMoving ? await elsewhere(accountId, token) : await suppress(deps, db.api, asked, "link");
      return isDone ? asked.recipient : undefined;
    },
    messageOf: (address) => names.readAddress(splitAddress(address)?.local ?? ""),
    async byMail(messageId) {
      const recipient = await findSoleRecipient(db.mail, messageId);
      return recipient !== undefined && (await suppress(deps, db.mail, { messageId, recipient }, "mail"));
    },
  };
}

/**
 * Suppresses the recipient for the inbox. An address at our own domain is suppressed too, other than after a bounce: the recipient asks for
 * it. Returns false if the message was deleted meanwhile.
 */
async function suppress(
  deps: UnsubscribeDeps,
  db: Db,
  { messageId, recipient }: { messageId: string; recipient: SoleRecipient },
  way: UnsubscribeWay,
): Promise<boolean> {
  const { accountId, inboxId } = recipient;
  const at = deps.now();
  const suppression = {
    id: deps.newId("sup", at),
    eventId: deps.newId("evt", at),
    address: suppressedForm(recipient.address),
    inboxId,
    reason: "unsubscribe" as const,
    detail: null,
    createdAt: at,
    expiresAt: null,
  };
  const { id, reason } = suppression;
  const { isThere, isNew, hasDeliveries } = await transaction(db, async (tx) => {
    const written = await insertUnsubscription(tx, { accountId, messageId, suppression });
    const entry = { accountId, actor: service, target: { type: "suppression", id } } as const;
    if (written.isNew) await audit(tx, deps, at, { ...entry, action: "suppression.added", details: { reason } });
    return written;
  });
  if (!isNew) return isThere;
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId }]);
  deps.log.info({ suppression_id: id, account_id: accountId, reason }, "suppression added");
  deps.unsubscribed?.(way);
  return true;
}
