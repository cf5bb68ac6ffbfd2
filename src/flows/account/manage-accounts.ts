import { type Db, transaction } from "../../database/db.ts";
import { type Actor, commandLine, service } from "../../domain/access/actor.ts";
import { type KeySettings, wholeKey } from "../../domain/access/key.ts";
import { Refusal } from "../../domain/errors.ts";
import type { Plan } from "../../domain/limits.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { newWebhookSecret } from "../../standards/signature.ts";
import { isCleanText } from "../../standards/text.ts";
import {
  type Account,
  findAccountByName,
  findFirstAccount,
  insertAccount,
  lockFirstStart,
} from "../../store/account/accounts.ts";
import { insertApiKey, markKeyRevoked } from "../../store/account/keys.ts";
import { signalToForget } from "../../store/channels.ts";
import { insertEndpoint, lockEndpoint, markEndpointChanged } from "../../store/events/endpoints.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { newDefaultEndpoint } from "../events/manage-webhook.ts";

/** A new key, which is shown once: the database keeps only its hash. */
export interface NewKey {
  id: string;
  key: string;
}

export interface KeyRequest {
  accountId: string;
  /** The name of the key, as a label for people. */
  name?: string | undefined;
  /** The key itself. A random one is made if it is left out. */
  key?: string;
  /** By default it may do everything in the account. */
  settings?: KeySettings;
  createdBy?: string;
  /** The key of the person who grants it to a client of MCP. */
  grantedBy?: string;
}

export async function createKey(deps: Deps, db: Db, request: KeyRequest): Promise<NewKey> {
  const {
    accountId,
    key = randomKey(deps, `ibx_${deps.cell}`),
    settings = wholeKey,
    createdBy = null,
    grantedBy = null,
  } = request;
  const name = request.name === undefined ? null : checkedName("create key", request.name);
  const createdAt = deps.now();
  const id = deps.newId("key", createdAt);
  const hash = sha256Hex(key);
  const { access, inboxId, externalId, allowedIps, expiresAt, sendPolicy } = settings;
  const shown = { prefix: key.slice(0, 8), lastFour: key.slice(-4) };
  const rights = { access, inboxId, externalId, allowedIps: [...allowedIps], expiresAt, sendPolicy };
  await insertApiKey(db, { id, accountId, name, hash, ...shown, createdAt, createdBy, grantedBy, ...rights });
  // A process may remember the key as unknown, because an operator who chooses API_KEY may have used it before it was stored here.
  await signalToForget(db, { kind: "key", hash });
  return { id, key };
}

export async function createAccount(
  deps: Deps,
  request: { name: string; plan: Plan; limits?: LimitChange; actor?: Actor },
): Promise<{ account: Account; apiKey: string }> {
  const name = checkedName("create account", request.name);
  const createdAt = deps.now();
  const account: Account = { id: deps.newId("acc", createdAt), name, plan: request.plan, createdAt, limits: {} };
  return transaction(deps.db.api, async (tx) => {
    if (!(await insertAccount(tx, { ...account, limits: withoutNulls(request.limits ?? {}) })))
      throw new Refusal("validation_error", `Cannot create account: the name "${name}" is taken`);
    await auditCreated(deps, tx, account, request.actor ?? commandLine);
    const { key } = await createKey(deps, tx, { accountId: account.id, name: "account create" });
    return { account, apiKey: key };
  });
}

/** Limits of one account; null for the limit of the plan. */
export type LimitChange = Readonly<Record<string, number | null>>;

export function withoutNulls(limits: LimitChange): Record<string, number> {
  return Object.fromEntries(Object.entries(limits).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

function auditCreated(deps: Deps, tx: Db, { id, plan, createdAt }: Account, actor: Actor): Promise<void> {
  const target = { type: "account", id } as const;
  return audit(tx, deps, createdAt, { action: "account.created", accountId: id, actor, target, details: { plan } });
}

/** Checks the operator's name for an account or a key, and returns it without white space around it. */
export function checkedName(doing: string, given: string): string {
  const name = given.trim();
  if (/^\S(?:.{0,98}\S)?$/u.test(name) && isCleanText(name)) return name;
  throw new Refusal("validation_error", `Cannot ${doing}: its name must be 1 to 100 characters on one line`);
}

/** Revokes a key for the operator, and notifies all processes. Returns false if there is no such key. */
export async function revokeKey(deps: Deps, keyId: string): Promise<boolean> {
  return transaction(deps.db.api, async (tx) => {
    const accountId = await markKeyRevoked(tx, keyId, deps.now());
    if (accountId === undefined) return false;
    // All keys of the account, because those that its holder has granted end too.
    await signalToForget(tx, { kind: "account", id: accountId });
    const target = { type: "key", id: keyId } as const;
    await audit(tx, deps, deps.now(), { action: "key.revoked", accountId, actor: commandLine, target });
    return true;
  });
}

/** Finds the account with a name, or the first one if no name is given. */
export async function accountNamed(deps: Pick<Deps, "db">, name: string | undefined): Promise<Account> {
  const account = name === undefined ? await findFirstAccount(deps.db.api) : await findAccountByName(deps.db.api, name);
  if (account !== undefined) return account;
  const why =
    name === undefined
      ? 'there is none yet: the first start of "inboxd serve" makes one, and so does "inboxd account create <name>"'
      : `there is none named "${name}"`;
  throw new Refusal("not_found", `Cannot find account: ${why}`);
}

export interface Seeds {
  apiKey: string | undefined;
  webhookUrl: string | undefined;
  webhookSecret: string | undefined;
  plan: Plan;
}

/** The keys and secrets of a first start, to be shown once. */
export interface FirstStart {
  apiKey: string | undefined;
  webhookSecret: string | undefined;
  /** The id of the account's first key, also if the operator chose the key; undefined at any later start. */
  keyId: string | undefined;
}

/**
 * Makes the first account if the database has none. At every start, adds to it the key and the webhook that the environment variables name.
 * If several processes start at once, one makes the account and the others find it.
 */
export async function seedFirstAccount(deps: Deps, seeds: Seeds): Promise<FirstStart> {
  const createdAt = deps.now();
  return transaction(deps.db.api, async (tx) => {
    await lockFirstStart(tx);
    const found = await findFirstAccount(tx);
    const account = found ?? {
      id: deps.newId("acc", createdAt),
      name: "default",
      plan: seeds.plan,
      createdAt,
      limits: {},
    };
    if (found === undefined) {
      await insertAccount(tx, account);
      await auditCreated(deps, tx, account, service);
    }

    const secret = seeds.webhookSecret ?? newWebhookSecret(deps.randomBytes);
    const webhook = newDefaultEndpoint(deps, { accountId: account.id, url: seeds.webhookUrl ?? null, secret });
    // A random secret is not stored before there is a URL: it would be shown twice, now and when the first URL is set.
    const isGiven = seeds.webhookUrl !== undefined || (found === undefined && seeds.webhookSecret !== undefined);
    const madeWebhook = isGiven && (await insertEndpoint(tx, webhook));
    if (!madeWebhook && seeds.webhookUrl !== undefined) await setFirstUrl(tx, account.id, seeds.webhookUrl);

    const isOursToMake = seeds.apiKey === undefined && found === undefined;
    const accountId = account.id;
    const made = isOursToMake ? await createKey(deps, tx, { accountId, name: "first start" }) : undefined;
    const given =
      seeds.apiKey === undefined
        ? undefined
        : await createKey(deps, tx, { accountId, name: "API_KEY", key: seeds.apiKey });
    return {
      keyId: found === undefined ? (made ?? given)?.id : undefined,
      apiKey: made?.key,
      webhookSecret: madeWebhook && seeds.webhookSecret === undefined ? secret : undefined,
    };
  });
}

/** Sets the URL of a default endpoint that has none yet. */
async function setFirstUrl(tx: Db, accountId: string, url: string): Promise<void> {
  const webhook = await lockEndpoint(tx, { accountId, isDefault: true });
  if (webhook?.url === null) await markEndpointChanged(tx, { ...webhook, url });
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Makes a key of 47 characters: its prefix, and digits of base 62 that have at least 244 bits. */
export function randomKey(deps: Deps, prefix: string): string {
  let rest = BigInt(`0x${Uint8Array.from(deps.randomBytes(32)).toHex()}`);
  let digits = "";
  for (let count = 0; count < 47 - prefix.length; count += 1) {
    digits = base62.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return `${prefix}${digits}`;
}
