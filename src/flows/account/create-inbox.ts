import { type Db, transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { Refusal } from "../../domain/errors.ts";
import { fingerprintOf, type KeyUse } from "../../domain/idempotency.ts";
import { dayInForce, type Plan, refuseOverInboxLimit } from "../../domain/limits.ts";
import { parseUsername, randomUsername } from "../../domain/username.ts";
import { lockAccount, markInboxMade } from "../../store/account/accounts.ts";
import { findInbox, type Inbox, insertAddress, insertInbox } from "../../store/account/inboxes.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { inboxEvent } from "../events/inbox-event.ts";
import { takeKey } from "../key-use.ts";

export interface NewInbox {
  account: { id: string; plan: Plan };
  actor: Actor;
  externalId: string | undefined;
  username: string | undefined;
  /** The request field that has the username (`username` or `mailboxName`), for error messages. */
  usernameField?: string;
  idempotencyKey: string | undefined;
}

export interface CreatedInbox {
  inbox: Inbox;
  replayed: boolean;
}

/** The most random usernames to try for one inbox. A name is already in use about once in 10¹⁴ times, so a few are enough. */
const draws = 5;

export async function createInbox(deps: Deps, request: NewInbox): Promise<CreatedInbox> {
  const { account, actor, externalId } = request;
  const chosen = request.username === undefined ? undefined : parseUsername(request.username, request.usernameField);
  const names = chosen === undefined ? Array.from({ length: draws }, () => randomUsername(deps.randomBytes)) : [chosen];
  const createdAt = deps.now();
  const id = deps.newId("inb", createdAt);
  const use = keyUseOf(request, chosen, id, createdAt);

  const { hasDeliveries, ...created } = await transaction(deps.db.api, async (tx) => {
    if (use !== undefined) {
      const earlier = await earlierInbox(tx, use);
      if (earlier !== undefined) return { inbox: earlier, replayed: true, hasDeliveries: false };
    }
    const made = await lockAccount(tx, account.id);
    const day = dayInForce(made?.inboxesMadeOn ?? null, createdAt);
    const today = made?.inboxesMadeOn === day ? made.inboxesMade : 0;
    const username = await takeName(tx, names, id, createdAt);
    refuseOverInboxLimit({ day, today }, deps.limits[account.plan], createdAt);
    const inbox: Inbox = {
      id,
      accountId: account.id,
      username,
      externalId: externalId ?? null,
      createdAt,
      unreadCount: 0,
      lastMessageAt: null,
    };
    await insertInbox(tx, inbox);
    await markInboxMade(tx, account.id, day);
    await audit(tx, deps, createdAt, {
      action: "inbox.created",
      accountId: account.id,
      actor,
      target: { type: "inbox", id },
      details: { username, externalId: inbox.externalId },
    });
    const hasDeliveries = await insertEvents(tx, [inboxEvent(deps, "inbox.created", inbox, createdAt)]);
    return { inbox, replayed: false, hasDeliveries };
  });
  if (hasDeliveries) deps.nudge("webhook");
  if (!created.replayed) deps.changes.notify([{ accountId: account.id, inboxId: created.inbox.id }]);
  return created;
}

async function takeName(tx: Db, names: readonly string[], inboxId: string, now: Date): Promise<string> {
  for (const name of names) if (await insertAddress(tx, name, inboxId, now)) return name;
  throw new Refusal("address_taken", `Cannot create inbox: the address "${names[0]}" is taken`);
}

/**
 * Records the use of an idempotency key. If an earlier request with the same content has used the key, returns the inbox that it created.
 */
async function earlierInbox(tx: Db, use: KeyUse): Promise<Inbox | undefined> {
  const id = await takeKey(tx, use);
  if (id === undefined) return undefined;
  const inbox = await findInbox(tx, use.accountId, id);
  if (inbox === undefined)
    throw new Refusal("not_found", "Cannot replay: the inbox that this key made is deleted", {
      extra: { resource: "inbox" },
    });
  return inbox;
}

function keyUseOf(
  request: NewInbox,
  username: string | undefined,
  subjectId: string,
  createdAt: Date,
): KeyUse | undefined {
  if (request.idempotencyKey === undefined) return undefined;
  const fingerprint = fingerprintOf("", { externalId: request.externalId, username });
  return {
    accountId: request.account.id,
    operation: "create_inbox",
    key: request.idempotencyKey,
    fingerprint,
    subjectId,
    createdAt,
  };
}
