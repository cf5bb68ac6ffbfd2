import { type Db, transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { parseDomainName, reserved } from "../../domain/domains/domain-name.ts";
import { checkSoonAfter, nextState, startedAgain } from "../../domain/domains/domain-states.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { type Limited, limitsOf, type Plan, refuseOverQuota } from "../../domain/limits.ts";
import { lockAccount } from "../../store/account/accounts.ts";
import {
  type CountedDomain,
  countDomains,
  countInboxesIn,
  type Domain,
  type DomainKey,
  type DomainOwner,
  findCountedDomain,
  findDomainByName,
  findHolder,
  insertDomain,
  insertDomainKey,
  isSharedDomain,
  listDomainKeys,
  lockDomain,
  markDomainAsked,
  markDomainChanged,
  markDomainDeleted,
  markRetirement,
  removeKeysOfDeletedDomains,
  removeRetiredKeys,
} from "../../store/account/domains.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import { type CheckDeps, checkDomain, writeDomain } from "./check-domain.ts";
import { newDomainKey } from "./new-key.ts";

export interface DomainDeps extends CheckDeps {
  /** Whether mail leaves the service. In the sandbox it does not, and names for tests can be domains. */
  isSandbox: boolean;
}

/** The one who acts, and the owner of the domains: an account, or null for those that the operator shares. */
export interface DomainActing {
  owner: DomainOwner;
  actor: Actor;
}

/** A domain with its keys, from which its records are made. */
export type ShownDomain = CountedDomain & { keys: readonly DomainKey[] };

export interface NewDomain extends DomainActing {
  /** The plan of the account; undefined for a shared domain. */
  plan: Plan | undefined;
  /** The limits of this account alone. */
  limits?: Limited["limits"];
  name: string;
  returnPath: string | undefined;
  subdomains: boolean | undefined;
}

const usualReturnPath = "bounces";
const usualRetireDays = 7;

/** Adds a domain, or finds the one that the owner has. Whether another account has it makes no difference. */
export async function addDomain(
  deps: DomainDeps,
  request: NewDomain,
): Promise<{ domain: ShownDomain; isNew: boolean }> {
  const { owner, plan } = request;
  if (plan === "free") {
    throw new Refusal("feature_requires_paid_plan", "Cannot add domain: the free plan has no own domains", {
      extra: { feature: "own_domains" },
    });
  }
  const name = parseDomainName(request.name, { ...deps.names, isSandbox: deps.isSandbox });
  if (owner !== null && (await isSharedDomain(deps.db.api, name))) throw reserved(name);
  const earlier = await findDomainByName(deps.db.api, owner, name);
  if (earlier !== undefined) return { domain: await shownDomain(deps, owner, earlier.id), isNew: false };

  const createdAt = deps.now();
  const domain: Domain = {
    id: deps.newId("dom", createdAt),
    accountId: owner,
    name,
    status: "pending",
    returnPath: request.returnPath ?? usualReturnPath,
    subdomains: request.subdomains ?? false,
    zone: null,
    recordsSeen: [],
    checkedAt: null,
    nextCheckAt: createdAt,
    missingSince: null,
    pendingSince: createdAt,
    askedAt: null,
    verifiedAt: null,
    failsAt: null,
    failedReason: null,
    leasedUntil: null,
    createdAt,
    deletedAt: null,
  };
  const key = await newDomainKey(deps, { domainId: domain.id, state: "active", retireDays: usualRetireDays });
  const isNew = await transaction(deps.db.api, async (tx) => {
    if (owner !== null && plan !== undefined) {
      // Concurrent requests of the account wait here, so that each counts the domains of those before it.
      await lockAccount(tx, owner);
      const limits = limitsOf(deps.limits, { plan, limits: request.limits });
      const used = await countDomains(tx, owner);
      if ((await findDomainByName(tx, owner, name)) === undefined)
        refuseOverQuota("domains", { used, limits, doing: "add domain" });
    }
    if (!(await insertDomain(tx, domain))) return false;
    await insertDomainKey(tx, key);
    await auditDomain(tx, deps, request, "domain.added", domain, createdAt);
    return true;
  });
  const made = isNew ? domain.id : ((await findDomainByName(deps.db.api, owner, name))?.id ?? "");
  return { domain: await shownDomain(deps, owner, made), isNew };
}

/** The domain with its keys. Throws `not_found` also for a domain of another account. */
export async function shownDomain(
  { db }: Pick<DomainDeps, "db">,
  owner: DomainOwner,
  id: string,
): Promise<ShownDomain> {
  const domain = await findCountedDomain(db.api, owner, id);
  if (domain === undefined) throw notFound("domain");
  return { ...domain, keys: await listDomainKeys(db.api, [id]) };
}

/** Sets whether inboxes may have names below the domain. */
export async function changeDomain(
  deps: DomainDeps,
  acting: DomainActing,
  id: string,
  { subdomains }: { subdomains: boolean },
): Promise<ShownDomain> {
  const at = deps.now();
  await transaction(deps.db.api, async (tx) => {
    const domain = await lockOwn(tx, acting, id);
    if (domain.subdomains === subdomains) return;
    const { below } = subdomains ? { below: 0 } : await countInboxesIn(tx, domain);
    if (below > 0) throw inUse("change domain", "inboxes have names below it", below);
    // The new record is looked for at once, unless the domain is not checked any more.
    const nextCheckAt = domain.nextCheckAt === null ? null : at;
    await markDomainChanged(tx, { ...domain, subdomains, nextCheckAt });
    await signalToForget(tx, { kind: "domain", name: domain.name });
    await auditDomain(tx, deps, acting, "domain.changed", domain, at, { subdomains });
  });
  return shownDomain(deps, acting.owner, id);
}

/** The pause between two checks of a domain by request. */
const askedEveryMs = 10_000;

/**
 * Checks a domain now, if the last such request is 10 seconds old, and starts the 72 hours of a failed one again. Returns the domain as the
 * last check left it.
 */
export async function verifyDomain(deps: DomainDeps, acting: DomainActing, id: string): Promise<ShownDomain> {
  const at = deps.now();
  const domain = await shownDomain(deps, acting.owner, id);
  if (domain.accountId !== acting.owner) throw notFound("domain");
  const isFirst = await markDomainAsked(deps.db.api, id, at, new Date(at.getTime() - askedEveryMs));
  if (!isFirst) return domain;
  if (domain.status === "failed" && domain.nextCheckAt === null) {
    await transaction(deps.db.api, async (tx) => {
      const failed = await lockOwn(tx, acting, id);
      if (failed.status === "failed") await markDomainChanged(tx, { ...failed, ...startedAgain(failed, at) });
    });
  }
  await checkDomain(deps, domain);
  return shownDomain(deps, acting.owner, id);
}

/** Makes a domain verified without the DNS, for a lab. It is not checked any more. */
export async function verifyWithoutDns(deps: DomainDeps, acting: DomainActing, id: string): Promise<ShownDomain> {
  const at = deps.now();
  await transaction(deps.db.api, async (tx) => {
    const domain = await lockOwn(tx, acting, id);
    const holder = await findHolder(tx, domain.name);
    if (holder !== undefined && holder.id !== id) {
      throw new Refusal("validation_error", `Cannot verify domain: another account has proven ${domain.name}`);
    }
    const { state, event } = nextState(domain, "valid", at, { graceHours: deps.domainGraceHours, random: deps.random });
    await writeDomain(tx, deps, { ...domain, ...state, nextCheckAt: null }, event, at);
    await auditDomain(tx, deps, acting, "domain.verified_by_operator", domain, at);
  });
  return shownDomain(deps, acting.owner, id);
}

const dayMs = 24 * 3_600_000;

/**
 * Makes a second DKIM key, which signs once its record is found. During a rotation another request begins none, but it changes for how long
 * the old key stays; with 0 days a key that already retires goes at once, and a new rotation begins.
 */
export async function rotateDkim(
  deps: DomainDeps,
  acting: DomainActing,
  id: string,
  given: number | undefined,
): Promise<ShownDomain> {
  const at = deps.now();
  const fresh = await newDomainKey(deps, { domainId: id, state: "next", retireDays: given ?? usualRetireDays });
  await transaction(deps.db.api, async (tx) => {
    const domain = await lockOwn(tx, acting, id);
    const keys = await listDomainKeys(tx, [id]);
    const next = keys.find(({ state }) => state === "next");
    const retiring = keys.find(({ state }) => state === "retiring");
    if (next !== undefined) {
      if (given !== undefined) await markRetirement(tx, { ...next, retireDays: given });
      return;
    }
    if (retiring !== undefined && given !== 0) {
      const until = new Date(at.getTime() + (given ?? usualRetireDays) * dayMs);
      if (given !== undefined && retiring.retiresAt !== null && until < retiring.retiresAt) {
        await markRetirement(tx, { ...retiring, retiresAt: until });
      }
      return;
    }
    if (retiring !== undefined) {
      await markRetirement(tx, { ...retiring, retiresAt: at });
      await removeRetiredKeys(tx, at);
    }
    await insertDomainKey(tx, fresh);
    const soon = checkSoonAfter(fresh.madeAt, at);
    const nextCheckAt = domain.nextCheckAt !== null && soon < domain.nextCheckAt ? soon : domain.nextCheckAt;
    await markDomainChanged(tx, { ...domain, nextCheckAt });
    await auditDomain(tx, deps, acting, "domain.key_rotated", domain, at, { selector: fresh.selector });
  });
  return shownDomain(deps, acting.owner, id);
}

/** Removes a domain without inboxes. Its keys are destroyed with it, or when the last accepted mail of it is out. */
export async function removeDomain(deps: DomainDeps, acting: DomainActing, id: string): Promise<void> {
  const at = deps.now();
  await transaction(deps.db.api, async (tx) => {
    const domain = await lockOwn(tx, acting, id);
    const { all } = await countInboxesIn(tx, domain);
    if (all > 0) throw inUse("remove domain", "it has inboxes", all);
    await markDomainDeleted(tx, id, at);
    await removeKeysOfDeletedDomains(tx);
    await signalToForget(tx, { kind: "domain", name: domain.name });
    await auditDomain(tx, deps, acting, "domain.removed", domain, at);
  });
}

/** Locks a domain of the owner. Throws `not_found` for one of another account, and for a shared one of the operator's. */
async function lockOwn(tx: Db, { owner }: DomainActing, id: string): Promise<Domain> {
  const domain = await lockDomain(tx, id);
  if (domain === undefined || domain.accountId !== owner) throw notFound("domain");
  return domain;
}

function inUse(doing: string, why: string, inboxes: number): Refusal {
  return new Refusal("domain_in_use", `Cannot ${doing}: ${why} (${inboxes})`, { extra: { inboxes } });
}

type DomainAction =
  | "domain.added"
  | "domain.changed"
  | "domain.key_rotated"
  | "domain.removed"
  | "domain.verified_by_operator";

function auditDomain(
  tx: Db,
  deps: DomainDeps,
  { actor }: DomainActing,
  action: DomainAction,
  { id, accountId, name }: Domain,
  at: Date,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  return audit(tx, deps, at, {
    action,
    accountId,
    actor,
    target: { type: "domain", id },
    details: { domain: name, ...details },
  });
}
