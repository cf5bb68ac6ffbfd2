import { accesses } from "../domain/access/access.ts";
import { commandLine as actor } from "../domain/access/actor.ts";
import { auditActions } from "../domain/access/audit.ts";
import type { KeySettings } from "../domain/access/key.ts";
import { suspensions } from "../domain/access/suspension.ts";
import { notFound, Refusal } from "../domain/errors.ts";
import { type Plan, plans } from "../domain/limits.ts";
import type { EnvelopeFrom } from "../domain/reports/return-path.ts";
import { type AccountChange, changeAccount } from "../flows/account/change-account.ts";
import { accountNamed, createAccount, revokeKey } from "../flows/account/manage-accounts.ts";
import { addKey, byCommandLine, ownedKey, rotateKey } from "../flows/account/manage-keys.ts";
import { createOperator, revokeOperator } from "../flows/account/operators.ts";
import { resealSecrets } from "../flows/account/sealed-secrets.ts";
import { type SignInDeps, signInLinkOfAccount } from "../flows/account/sign-in.ts";
import type { Deps } from "../flows/deps.ts";
import {
  rotateWebhookSecret,
  secretOf,
  setWebhookUrl,
  unsetWebhook,
  webhookWithUrl,
} from "../flows/events/manage-webhook.ts";
import { redeliverEvent } from "../flows/events/redeliver-event.ts";
import { testWebhook } from "../flows/events/test-webhook.ts";
import { shownWebhook } from "../flows/read/shown-webhook.ts";
import { parseInstant } from "../standards/instant.ts";
import { isAddressBlock } from "../standards/ip.ts";
import { type Account, listAccounts } from "../store/account/accounts.ts";
import { listAuditEntries } from "../store/account/audit.ts";
import { type ApiKeyInfo, findAccountOfKey, listApiKeys } from "../store/account/keys.ts";
import { listOperators } from "../store/account/operators.ts";
import { findEndpoint } from "../store/events/endpoints.ts";
import { findEvent } from "../store/events/events.ts";
import { listDeliveries } from "../store/outbox/deliveries.ts";
import { listSentMessages } from "../store/send/send-facts.ts";
import { findSetting, serviceIdSetting } from "../store/upkeep/settings.ts";
import type { WebhookClient } from "../webhook/client.ts";
import { type DomainAdminDeps, domainOperations } from "./domains.ts";

export interface AdminDeps extends Deps, DomainAdminDeps {
  allowPrivateWebhooks: boolean;
  webhooks: WebhookClient;
  /** What sign-in links need. Undefined if the console is off (CONSOLE=0). */
  console: Pick<SignInDeps, "tokens" | "baseUrl"> | undefined;
  envelopeFrom: EnvelopeFrom;
}

type Arguments = Readonly<Record<string, string | undefined>>;

/** The settings of a key in the words of the command line. */
function settingsOfKey({ access = "full", inbox, externalId, expires, allow }: Arguments, now: Date): KeySettings {
  const known = accesses.find((each) => each === access);
  const expiresAt = expires === undefined ? null : parseInstant(expires);
  const allowedIps = allow === undefined ? [] : allow.split(",").map((block) => block.trim());
  const wrong = (why: string) => new Refusal("validation_error", `Cannot create key: ${why}`);
  if (known === undefined) throw wrong(`--access must be one of ${accesses.join(", ")}`);
  if (inbox !== undefined && (externalId !== undefined || known === "full"))
    throw wrong("--inbox is for one inbox: not with --external-id, and not with the access full");
  if (expiresAt === undefined || (expiresAt !== null && expiresAt <= now))
    throw wrong("--expires must be a day or an instant in the future");
  if (!allowedIps.every(isAddressBlock)) throw wrong("--allow must be IP addresses or blocks, with commas");
  return {
    access: known,
    inboxId: inbox ?? null,
    externalId: externalId ?? null,
    allowedIps,
    expiresAt,
    sendPolicy: null,
  };
}

async function accountOfKey(deps: Deps, id: string): Promise<Account> {
  const account = await findAccountOfKey(deps.db.api, id);
  if (account === undefined) throw notFound("key");
  return account;
}

function shownKey(key: ApiKeyInfo) {
  return {
    id: key.id,
    name: key.name,
    key: `${key.prefix}…${key.lastFour}`,
    access: key.access,
    inboxId: key.inboxId,
    externalId: key.externalId,
    allowedIps: key.allowedIps,
    createdAt: key.createdAt.toISOString(),
    createdBy: key.createdBy,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  };
}

/** The operations of the operator's command line, by name. A command sends the name to the service that has the database. */
const operations = {
  async "account create"(deps: Deps, { name = "", plan = "developer" }: Arguments) {
    const known = plans.find((each) => each === plan);
    if (known === undefined)
      throw new Refusal("validation_error", `Cannot create account: its plan must be one of ${plans.join(", ")}`);
    const { account, apiKey } = await createAccount(deps, { name, plan: known satisfies Plan });
    return { id: account.id, name: account.name, plan: account.plan, apiKey };
  },
  async "account list"(deps: Deps) {
    const accounts = await listAccounts(deps.db.api);
    return accounts.map(({ createdAt, ...account }) => ({ ...account, createdAt: createdAt.toISOString() }));
  },
  async "account suspend"(deps: Deps, { name = "", scope, reason, movedTo }: Arguments) {
    const suspended = suspensions.find((each) => each === scope);
    const wrong = (why: string) => new Refusal("validation_error", `Cannot suspend account: ${why}`);
    if (suspended === undefined) throw wrong(`its scope must be one of ${suspensions.join(", ")}`);
    if ((reason ?? "").length > mostReasonCharacters)
      throw wrong(`--reason must have at most ${mostReasonCharacters} characters`);
    return suspend(deps, name, { suspended, reason, movedTo });
  },
  async "account resume"(deps: Deps, { name = "" }: Arguments) {
    return suspend(deps, name, { suspended: null });
  },
  async "operator create"(deps: Deps, { name = "", expires }: Arguments) {
    const expiresAt = expires === undefined ? undefined : parseInstant(expires);
    if (expires !== undefined && expiresAt === undefined) {
      throw new Refusal("validation_error", "Cannot create operator: --expires must be a day or an instant");
    }
    return createOperator(deps, actor, { name, expiresAt });
  },
  async "operator list"(deps: Deps) {
    const operators = await listOperators(deps.db.api);
    return operators.map(({ prefix, lastFour, ...operator }) => ({
      id: operator.id,
      name: operator.name,
      key: `${prefix}…${lastFour}`,
      createdAt: operator.createdAt.toISOString(),
      expiresAt: operator.expiresAt?.toISOString() ?? null,
      lastUsedAt: operator.lastUsedAt?.toISOString() ?? null,
      revokedAt: operator.revokedAt?.toISOString() ?? null,
    }));
  },
  async "operator revoke"(deps: Deps, { name = "" }: Arguments) {
    return { id: await revokeOperator(deps, actor, name), revoked: true };
  },
  async "audit list"(deps: Deps, { account, action, actor: by, target, limit = "50" }: Arguments) {
    const most = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
    if (most < 1 || most > mostAuditEntries) {
      throw new Refusal("validation_error", `Cannot list audit entries: the limit must be 1 to ${mostAuditEntries}`);
    }
    const entries = await listAuditEntries(deps.db.api, {
      accountId: account === undefined ? undefined : (await accountNamed(deps, account)).id,
      action: auditActions.find((known) => known === action),
      actor: by,
      targetId: target,
      since: undefined,
      until: undefined,
      beforeId: undefined,
      limit: most,
    });
    const names = new Map((await listAccounts(deps.db.api)).map(({ id, name }) => [id, name]));
    return entries.map(({ actorType, actorId, actorName, targetType, targetId, accountId, ...entry }) => ({
      ...entry,
      at: entry.at.toISOString(),
      actor: { type: actorType, id: actorId, name: actorName },
      account: accountId === null ? null : (names.get(accountId) ?? accountId),
      target: { type: targetType, id: targetId },
    }));
  },
  async "key create"(deps: Deps, { account, name, ...asked }: Arguments) {
    const by = byCommandLine(await accountNamed(deps, account));
    const made = await addKey(deps, by, name, settingsOfKey(asked, deps.now()));
    return { id: made.info.id, apiKey: made.key };
  },
  async "key show"(deps: Deps, { id = "" }: Arguments) {
    const account = await accountOfKey(deps, id);
    return { account: account.name, ...shownKey(await ownedKey(deps.db.api, { accountId: account.id }, id)) };
  },
  async "key rotate"(deps: Deps, { id = "", overlap = "86400" }: Arguments) {
    const seconds = /^\d{1,6}$/.test(overlap) ? Number(overlap) : Number.POSITIVE_INFINITY;
    if (seconds > 604_800)
      throw new Refusal("validation_error", "Cannot rotate key: --overlap must be 0 to 604800 seconds");
    const made = await rotateKey(deps, byCommandLine(await accountOfKey(deps, id)), id, seconds);
    return { id: made.info.id, apiKey: made.key };
  },
  async "key list"(deps: Deps, { account }: Arguments) {
    const { id } = await accountNamed(deps, account);
    const filters = { inboxId: undefined, externalId: undefined, isRevoked: undefined };
    const keys = await listApiKeys(deps.db.api, { reach: { accountId: id }, ...filters, limit: 1_000, offset: 0 });
    return keys.map(shownKey);
  },
  async "key revoke"(deps: Deps, { id = "" }: Arguments) {
    if (!(await revokeKey(deps, id))) {
      throw new Refusal("not_found", `Cannot revoke key: there is no active key ${id}`);
    }
    return { id, revoked: true };
  },
  async "console link"(deps: AdminDeps, { account }: Arguments) {
    if (deps.console === undefined) throw new Refusal("forbidden", "Cannot sign in: CONSOLE=0, so there is no console");
    const link = await signInLinkOfAccount({ ...deps, ...deps.console }, await accountNamed(deps, account));
    return { url: link.url, expiresAt: link.expiresAt.toISOString() };
  },
  async "webhook show"(deps: Deps, { account }: Arguments) {
    const { id } = await accountNamed(deps, account);
    return shownWebhook(deps, await findEndpoint(deps.db.api, { accountId: id, isDefault: true }));
  },
  async "webhook test"(deps: AdminDeps, { account }: Arguments) {
    return testWebhook(deps, { accountId: (await accountNamed(deps, account)).id, actor });
  },
  async "webhook deliveries"(deps: Deps, { account, event = "" }: Arguments) {
    const { id } = await accountNamed(deps, account);
    const found = await findEvent(deps.db.api, { accountId: id }, event);
    if (found === undefined) throw notFound("event");
    const of = { accountId: id, eventId: found.id, after: undefined, limit: mostDeliveries };
    return (await listDeliveries(deps.db.api, of)).map(({ lane: _lane, ...delivery }) => ({
      ...delivery,
      attemptedAt: delivery.attemptedAt.toISOString(),
    }));
  },
  async "webhook redeliver"(deps: Deps, { account, event = "" }: Arguments) {
    const { id } = await accountNamed(deps, account);
    await redeliverEvent(deps, { accountId: id, actor }, event);
    return { event, status: "queued" };
  },
  async "webhook delete"(deps: Deps, { account }: Arguments) {
    const { id } = await accountNamed(deps, account);
    const { url } = await webhookWithUrl(deps, id, "delete webhook");
    await unsetWebhook(deps, { accountId: id, actor });
    return { url, deleted: true };
  },
  async "webhook set"(deps: AdminDeps, { account, url = "" }: Arguments) {
    const { id } = await accountNamed(deps, account);
    const { webhook, secret } = await setWebhookUrl(deps, { accountId: id, actor }, url);
    return {
      url: webhook.url,
      secretLast4: secretOf(deps, webhook).slice(-4),
      ...(secret !== undefined && { secret }),
    };
  },
  async "webhook rotate"(deps: AdminDeps, { account, overlapSeconds = "86400" }: Arguments) {
    const seconds = /^\d{1,6}$/.test(overlapSeconds) ? Number(overlapSeconds) : Number.NaN;
    if (!(seconds <= 604_800)) {
      throw new Refusal("validation_error", "Cannot rotate secret: the overlap must be 0 to 604800 whole seconds");
    }
    const { id } = await accountNamed(deps, account);
    return { secret: await rotateWebhookSecret(deps, actor, { accountId: id, isDefault: true }, seconds) };
  },
  async "secrets reseal"(deps: Deps) {
    return { resealed: await resealSecrets(deps) };
  },
  ...domainOperations,
  /** The address to which a server reports about a mail of ours. `from` is the address of its inbox. */
  async "return path"(deps: AdminDeps, { message = "", from = "" }: Arguments) {
    const [sent] = await listSentMessages(deps.db.api, [message]);
    if (sent === undefined) throw notFound("message");
    return { address: await deps.envelopeFrom(sent.id, from) };
  },
  /** The id of this database's service. `inboxd doctor` compares it with the id of the service that listens at the port. */
  async "service id"(deps: Deps) {
    return { id: (await findSetting(deps.db.api, serviceIdSetting)) ?? null };
  },
} satisfies Record<string, (deps: AdminDeps, given: Arguments) => Promise<object>>;

async function suspend(deps: Deps, name: string, change: Pick<AccountChange, "suspended" | "reason" | "movedTo">) {
  const { id } = await accountNamed(deps, name);
  const { suspended, suspendedReason, movedTo } = await changeAccount(deps, actor, id, change);
  return { id, name, suspended, reason: suspendedReason, movedTo };
}

const mostReasonCharacters = 1_000;

/** The most entries of the audit that are listed. */
const mostAuditEntries = 1_000;

/** The most deliveries that are listed. An event usually has far fewer. */
const mostDeliveries = 1_000;

export type AdminOperation = keyof typeof operations;

export interface AdminRequest {
  operation: AdminOperation;
  arguments: Arguments;
}

/** Runs an operation in this process, which is the service that has the database, or a command that has opened it itself. */
export function administer(deps: AdminDeps, request: AdminRequest): Promise<object> {
  if (!Object.hasOwn(operations, request.operation)) throw anotherVersion();
  const operation = operations[request.operation];
  return operation(deps, request.arguments);
}

/** The refusal of an unknown operation: command and service are of different versions. */
export function anotherVersion(): Refusal {
  return new Refusal("forbidden", "Cannot do this: the running server is of another version");
}
