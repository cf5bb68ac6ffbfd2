import { type Db, transaction } from "../../database/db.ts";
import type { Caller } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { dayInForce, type Limited, limitsOf, refuseOverInboxLimit } from "../../domain/limits.ts";
import { type NamePlace, parseName, refuseTooManyAliases } from "../../domain/username.ts";
import { splitAddress } from "../../standards/address.ts";
import { lockAccount, markInboxesMade } from "../../store/account/accounts.ts";
import { type Inbox, lockInbox, markAddressesHeld, markAlias } from "../../store/account/inboxes.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { domainFor, takeName } from "./create-inbox.ts";
import { heldUntil } from "./delete-inbox.ts";

export interface AliasOwner {
  account: Pick<Caller, "id" | "reach"> & Limited;
  actor: Actor;
  inboxId: string;
}

/** Gives an inbox an alias at the domain of its address. An alias that it has already changes nothing. */
export async function addAlias(deps: Deps, owner: AliasOwner, name: string): Promise<Inbox> {
  const at = deps.now();
  const { account } = owner;
  return transaction(deps.db.api, async (tx) => {
    const { inbox, host, username } = await aliasOf(deps, tx, owner, { name, doing: adding });
    if (inbox.aliases.includes(username)) return inbox;
    if (username === inbox.username)
      throw new Refusal("address_taken", `Cannot ${adding}: "${username}" is the address of the inbox itself`);
    refuseTooManyAliases(inbox.aliases.length + 1, adding);
    const made = await lockAccount(tx, account.id);
    const day = dayInForce(made?.inboxesMadeOn ?? null, at);
    const today = made?.inboxesMadeOn === day ? made.inboxesMade : 0;
    if (host !== undefined) await domainFor(tx, account.id, host, adding);
    await takeName(tx, [username], inbox, at, adding);
    refuseOverInboxLimit({ day, today }, limitsOf(deps.limits, account), at, { doing: adding });
    await markInboxesMade(tx, account.id, { day, inboxes: 0, addresses: 1 });
    const changed = await markAlias(tx, inbox.id, { username, isAdded: true, at });
    await noteAlias(deps, tx, owner, { username, action: "inbox.alias_added", at });
    return changed;
  });
}

/** Takes an alias from an inbox. The name is then reserved for this inbox, as the address of a deleted inbox is for nobody. */
export async function removeAlias(deps: Deps, owner: AliasOwner, name: string): Promise<void> {
  const at = deps.now();
  await transaction(deps.db.api, async (tx) => {
    const { inbox, username } = await aliasOf(deps, tx, owner, { name, doing: "remove alias" });
    if (!inbox.aliases.includes(username)) throw notFound("alias");
    await markAddressesHeld(tx, inbox.id, [username], heldUntil(inbox, at));
    await signalToForget(tx, { kind: "address", username });
    await markAlias(tx, inbox.id, { username, isAdded: false, at });
    await noteAlias(deps, tx, owner, { username, action: "inbox.alias_removed", at });
  });
}

const adding = "add alias";

/** Locks the inbox, so that its aliases are counted one by one. */
async function aliasOf(
  { mailDomain }: Deps,
  tx: Db,
  { account, inboxId }: AliasOwner,
  { name, doing }: { name: string; doing: string },
) {
  const inbox = await lockInbox(tx, account.reach, inboxId);
  if (inbox === undefined) throw notFound("inbox");
  const host = splitAddress(inbox.username)?.domain;
  const place: NamePlace = { doing, field: "username", fault: { parameter: "username" } };
  return { inbox, host, username: parseName(name, { host, mailDomain }, place) };
}

async function noteAlias(
  deps: Deps,
  tx: Db,
  { account, actor, inboxId }: AliasOwner,
  { username, action, at }: { username: string; action: "inbox.alias_added" | "inbox.alias_removed"; at: Date },
): Promise<void> {
  const target = { type: "inbox", id: inboxId } as const;
  await audit(tx, deps, at, { action, accountId: account.id, actor, target, details: { username } });
}
