import { type Db, transaction } from "../../database/db.ts";
import { type Caller, isWholeAccount, type Reach } from "../../domain/access/access.ts";
import { type Actor, commandLine } from "../../domain/access/actor.ts";
import type { AuditAction } from "../../domain/access/audit.ts";
import { type KeySettings, keyWithin, lastKey, makerOfKeys, refuseMilder, wholeKey } from "../../domain/access/key.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { type Limited, limitsOf, refuseOverQuota } from "../../domain/limits.ts";
import { type SendPolicy, strictest } from "../../domain/policy.ts";
import { type Account, lockAccount } from "../../store/account/accounts.ts";
import { findInbox } from "../../store/account/inboxes.ts";
import {
  type ApiKeyInfo,
  countLivingKeys,
  findApiKey,
  isOtherWholeKey,
  type KeyChange,
  markInboxKeysRevoked,
  markKeyChanged,
  markKeyRevoked,
} from "../../store/account/keys.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { checkedName, createKey } from "./manage-accounts.ts";

/** Someone who manages keys: a caller with access `full`, or the command line. */
export interface KeyManager extends Limited {
  reach: Reach;
  /** The maker that the new keys name. */
  createdBy: string;
  actor: Actor;
  /** The policy for what it sends with its own key. */
  sendPolicy?: SendPolicy | undefined;
  /** An operator may end the last key that manages an account. */
  isOperator: boolean;
}

export function managerOf(caller: Caller, actor: Actor): KeyManager {
  const { plan, limits, reach, kind, sendPolicies } = caller;
  const sendPolicy = sendPolicies && strictest(...sendPolicies);
  return { plan, limits, reach, actor, sendPolicy, createdBy: makerOfKeys(caller), isOperator: kind === "operator" };
}

export function byCommandLine({ id, plan, limits }: Account): KeyManager {
  return { plan, limits, reach: { accountId: id }, actor: commandLine, createdBy: "cli", isOperator: true };
}

/** An operator, who makes the first keys of an account. */
export function byOperator({ id, plan, limits }: Pick<Account, "id" | "plan" | "limits">, actor: Actor): KeyManager {
  return { plan, limits, reach: { accountId: id }, actor, createdBy: "operator", isOperator: true };
}

/** A key with its secret, which is shown only once. */
export interface MadeKey {
  info: ApiKeyInfo;
  key: string;
}

/** Adds a key to an account that exists, within its quota of keys and within the reach of its maker. */
export function addKey(
  deps: Deps,
  by: KeyManager,
  name: string | undefined,
  asked: KeySettings = wholeKey,
): Promise<MadeKey> {
  const settings = { ...keyWithin(by.reach, asked), sendPolicy: asked.sendPolicy ?? sendPolicyOf(by) };
  refuseMilder(by.sendPolicy, settings.sendPolicy, "create key");
  return transaction(deps.db.api, async (tx) => {
    await makeRoom(deps, tx, by);
    const { inboxId } = settings;
    const isThere =
      inboxId === null || (isId("inb", inboxId) && (await findInbox(tx, by.reach, inboxId)) !== undefined);
    if (!isThere) throw notFound("inbox");
    return made(deps, tx, by, { action: "key.created", name, settings });
  });
}

/** The policy of the keys that this manager makes, if it asks for none: that of its own key. */
function sendPolicyOf({ sendPolicy }: KeyManager): SendPolicy | null {
  return sendPolicy === undefined || sendPolicy === "open" ? null : sendPolicy;
}

/** Locks the account, so that no two requests take the last place or end the last two keys, and no inbox is deleted meanwhile. */
export async function makeRoom(deps: Deps, tx: Db, { reach, ...limited }: KeyManager): Promise<void> {
  await lockAccount(tx, reach.accountId);
  const used = await countLivingKeys(tx, reach.accountId);
  refuseOverQuota("keys", { used, limits: limitsOf(deps.limits, limited), doing: "create key" });
}

async function made(deps: Deps, tx: Db, by: KeyManager, { action, name, settings, details }: Making): Promise<MadeKey> {
  const { accountId } = by.reach;
  const { id, key } = await createKey(deps, tx, { accountId, name, settings, createdBy: by.createdBy });
  const { access, inboxId, externalId } = settings;
  await auditKey(deps, tx, by, { action, id, details: { access, inboxId, externalId, ...details } });
  const info = await findApiKey(tx, { accountId }, id);
  if (info === undefined) throw new Error("Cannot show key: it is gone");
  return { info, key };
}

interface Making {
  action: AuditAction;
  name: string | undefined;
  settings: KeySettings;
  details?: Readonly<Record<string, unknown>>;
}

/** Makes a key like another one, which ends after the overlap. */
export function rotateKey(deps: Deps, by: KeyManager, id: string, overlapSeconds: number): Promise<MadeKey> {
  return transaction(deps.db.api, async (tx) => {
    await makeRoom(deps, tx, by);
    const old = await ownedKey(tx, by.reach, id);
    refuseMilder(by.sendPolicy, old.sendPolicy, "rotate key");
    const endsAt = new Date(deps.now().getTime() + overlapSeconds * 1000);
    if (old.revokedAt !== null || (old.expiresAt !== null && old.expiresAt <= deps.now())) throw notFound("key");
    const name = old.name ?? undefined;
    const next = await made(deps, tx, by, { action: "key.rotated", name, settings: old, details: { rotates: id } });
    const expiresAt = old.expiresAt !== null && old.expiresAt < endsAt ? old.expiresAt : endsAt;
    await changed(tx, by, id, { expiresAt });
    return next;
  });
}

export function changeKey(deps: Deps, by: KeyManager, id: string, change: KeyChange): Promise<ApiKeyInfo> {
  const name = change.name && checkedName("change key", change.name);
  if (change.sendPolicy !== undefined) refuseMilder(by.sendPolicy, change.sendPolicy, "change key");
  return transaction(deps.db.api, async (tx) => {
    await lockAccount(tx, by.reach.accountId);
    const key = await ownedKey(tx, by.reach, id);
    if (key.revokedAt !== null) throw notFound("key");
    if (change.expiresAt) await refuseLast(tx, by, key, "change key");
    const info = await changed(tx, by, id, { ...change, name });
    await auditKey(deps, tx, by, { action: "key.changed", id, details: { fields: givenOf(change) } });
    return info;
  });
}

/** The names of the fields that a change gives. */
function givenOf(change: KeyChange): string[] {
  return Object.entries(change).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/** Revokes a key. All processes are notified. Revoking a key again changes nothing. */
export function endKey(deps: Deps, by: KeyManager, id: string): Promise<void> {
  return transaction(deps.db.api, async (tx) => {
    await lockAccount(tx, by.reach.accountId);
    const key = await ownedKey(tx, by.reach, id);
    if (key.revokedAt !== null) return;
    await refuseLast(tx, by, key, "revoke key");
    if ((await markKeyRevoked(tx, id, deps.now())) === undefined) return;
    await signalToForget(tx, { kind: "account", id: by.reach.accountId });
    await auditKey(deps, tx, by, { action: "key.revoked", id });
  });
}

/** Revokes the keys of an inbox, in the transaction that deletes it. */
export async function endKeysOfInbox(
  deps: Deps,
  tx: Db,
  { accountId, actor }: { accountId: string; actor: Actor },
  inboxId: string,
): Promise<void> {
  const at = deps.now();
  const ids = await markInboxKeysRevoked(tx, inboxId, at);
  if (ids.length === 0) return;
  // One signal for all of them, because they may be thousands.
  await signalToForget(tx, { kind: "account", id: accountId });
  await audit(
    tx,
    deps,
    at,
    ...ids.map((id) => ({ action: "key.revoked", accountId, actor, target: { type: "key", id } }) as const),
  );
}

export async function ownedKey(db: Db, reach: Reach, id: string): Promise<ApiKeyInfo> {
  const key = isId("key", id) ? await findApiKey(db, reach, id) : undefined;
  if (key === undefined) throw notFound("key");
  return key;
}

async function refuseLast(tx: Db, by: KeyManager, key: ApiKeyInfo, doing: string): Promise<void> {
  const { access, accountId, inboxId, externalId } = key;
  const reach = { accountId, inboxId: inboxId ?? undefined, externalId: externalId ?? undefined };
  const manages = access === "full" && isWholeAccount(reach);
  if (manages && !by.isOperator && !(await isOtherWholeKey(tx, key))) throw lastKey(doing);
}

async function changed(tx: Db, by: KeyManager, id: string, change: KeyChange): Promise<ApiKeyInfo> {
  const key = await markKeyChanged(tx, by.reach, id, change);
  if (key === undefined) throw notFound("key");
  // All keys of the account, because those that its holder has granted end with it.
  await signalToForget(tx, { kind: "account", id: by.reach.accountId });
  return key;
}

function auditKey(
  deps: Deps,
  tx: Db,
  { reach, actor }: KeyManager,
  { action, id, details = {} }: { action: AuditAction; id: string; details?: Readonly<Record<string, unknown>> },
): Promise<void> {
  const target = { type: "key", id } as const;
  return audit(tx, deps, deps.now(), { action, accountId: reach.accountId, actor, target, details });
}
