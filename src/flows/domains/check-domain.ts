import { type Db, transaction, violates } from "../../database/db.ts";
import type { ZoneQuestions } from "../../dns/zones.ts";
import { service } from "../../domain/access/actor.ts";
import {
  checkSoonAfter,
  type DomainEventType,
  moved,
  nextState,
  type Proof,
  type StateSettings,
} from "../../domain/domains/domain-states.ts";
import type { Verdict } from "../../domain/domains/judge-records.ts";
import { isProven } from "../../domain/domains/readiness.ts";
import { type ServiceNames, selectorName } from "../../domain/domains/records.ts";
import type { SeenRecord } from "../../domain/domains/seen-record.ts";
import {
  type Domain,
  type DomainKey,
  findHolder,
  listDomainKeys,
  lockDomain,
  lockHolder,
  markDomainChanged,
  markKeyReplaced,
} from "../../store/account/domains.ts";
import { signalToForget } from "../../store/channels.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { type CheckedRecords, checkProof, checkRecords } from "./check-records.ts";
import { domainEvent } from "./domain-event.ts";
import { newSelector } from "./new-key.ts";

export interface CheckDeps extends Deps {
  names: ServiceNames;
  /** How long a failing domain goes on as before. */
  domainGraceHours: number;
  /** Opens the questions of one check. */
  openQuestions: () => Promise<ZoneQuestions>;
  /** Called with the result of each check, for counters. */
  checked?: ((proof: Proof) => void) | undefined;
}

/** The answers of the DNS in one check. */
interface Answers extends CheckedRecords {
  startedAt: Date;
  /** The domain that had the name when the check found the proof valid, with the selector of its active key. */
  holder: { id: string; selector: string | undefined; isGone: boolean } | undefined;
}

/** An older answer of the DNS than this is dropped, because the process was stopped meanwhile. */
const staleMs = 60_000;
const dayMs = 24 * 3_600_000;

/** Checks a domain now, and writes down what follows. Returns false if the domain is deleted, or if the answers came too late. */
export async function checkDomain(deps: CheckDeps, domain: Domain): Promise<boolean> {
  const startedAt = deps.now();
  const keys = await listDomainKeys(deps.db.work, [domain.id]);
  const questions = await deps.openQuestions();
  const checked = await checkRecords(questions, { ...domain, keys }, deps.names, newSelector(deps.randomBytes));
  const holder = await checkHolder(deps, questions, domain, keys, checked);
  return settle(deps, domain, { startedAt, ...checked, holder });
}

/** If the domain is newly proven and another one has the name, looks at the proof of that one too, within the same bounds. */
async function checkHolder(
  deps: CheckDeps,
  questions: ZoneQuestions,
  domain: Domain,
  keys: readonly DomainKey[],
  { records }: CheckedRecords,
): Promise<Answers["holder"]> {
  if (isProven(domain.status) || proofIn(domain, keys, records) !== "valid") return undefined;
  const holder = await findHolder(deps.db.work, domain.name);
  if (holder === undefined || holder.id === domain.id) return undefined;
  const theirs = (await listDomainKeys(deps.db.work, [holder.id])).filter(({ state }) => state !== "retiring");
  const random = newSelector(deps.randomBytes);
  const verdicts = await checkProof(questions, { name: domain.name, keys: theirs }, random);
  return { id: holder.id, selector: activeIn(theirs)?.selector, isGone: verdicts.every(isGone) };
}

/**
 * Writes down a check. Of two processes that verify one name, the index `domains_holder` lets one succeed; the other begins again, and finds
 * that the name is taken.
 */
async function settle(deps: CheckDeps, domain: Domain, answers: Answers): Promise<boolean> {
  for (;;) {
    try {
      const settled = await transaction(deps.db.work, (tx) => settleIn(tx, deps, domain.id, answers));
      if (settled === undefined) return false;
      deps.checked?.(settled.proof);
      if (settled.hasDeliveries) deps.nudge("webhook");
      if (settled.accountIds.length > 0) deps.changes.notify(settled.accountIds.map((accountId) => ({ accountId })));
      return true;
    } catch (error) {
      if (!violates(error, "domains_holder")) throw error;
    }
  }
}

async function settleIn(tx: Db, deps: CheckDeps, id: string, answers: Answers) {
  const at = deps.now();
  const domain = await lockDomain(tx, id);
  if (domain === undefined || at.getTime() - answers.startedAt.getTime() > staleMs) return undefined;
  const keys = await listDomainKeys(tx, [id]);
  await replaceKey(tx, domain, keys, answers.records, at);

  const found = proofIn(domain, keys, answers.records);
  const holder = found === "valid" && !isProven(domain.status) ? await lockHolder(tx, domain.name) : undefined;
  const makesWay =
    holder !== undefined &&
    answers.holder?.isGone === true &&
    holder.id === answers.holder.id &&
    activeIn(await listDomainKeys(tx, [holder.id]))?.selector === answers.holder.selector;
  const proof = holder !== undefined && !makesWay ? "taken" : found;
  const written =
    holder !== undefined && makesWay
      ? [await writeDomain(tx, deps, withoutProof({ ...holder, ...moved(holder).state }), "domain.failed", at)]
      : [];

  const settings: StateSettings = { graceHours: deps.domainGraceHours, random: deps.random };
  const { state, event } = nextState(domain, proof, at, settings);
  const after: Domain = {
    ...domain,
    ...state,
    nextCheckAt: rotationCheckAt(keys, answers.records, domain, at, state.nextCheckAt),
    zone: answers.zone ?? domain.zone,
    recordsSeen: seenNow(domain, keys, answers.records, proof === "taken"),
  };
  written.push(await writeDomain(tx, deps, after, event, at));
  if (event === undefined && readinessOf(after) !== readinessOf(domain)) {
    await signalToForget(tx, { kind: "domain", name: domain.name });
  }
  return {
    proof,
    hasDeliveries: written.some(({ hasDeliveries }) => hasDeliveries),
    accountIds: written.flatMap(({ accountId }) => accountId ?? []),
  };
}

/** Writes a domain, and the event and the audit entry of its new status. */
export async function writeDomain(
  tx: Db,
  deps: CheckDeps,
  domain: Domain,
  event: DomainEventType | undefined,
  at: Date,
) {
  await markDomainChanged(tx, domain);
  if (event === undefined) return { hasDeliveries: false, accountId: undefined };
  await signalToForget(tx, { kind: "domain", name: domain.name });
  await audit(tx, deps, at, {
    action: event,
    accountId: domain.accountId,
    actor: service,
    target: { type: "domain", id: domain.id },
    details: { domain: domain.name, ...(domain.failedReason !== null && { reason: domain.failedReason }) },
  });
  const { accountId } = domain;
  if (accountId === null) return { hasDeliveries: false, accountId: undefined };
  const keys = await listDomainKeys(tx, [domain.id]);
  const hasDeliveries = await insertEvents(tx, [domainEvent(deps, { ...domain, accountId }, keys, event, at)]);
  return { hasDeliveries, accountId };
}

/** Makes the next key of a domain its active one once its record is found. */
async function replaceKey(
  tx: Db,
  domain: Domain,
  keys: readonly DomainKey[],
  records: readonly SeenRecord[],
  at: Date,
): Promise<void> {
  const next = keys.find(({ state }) => state === "next");
  if (next === undefined || recordOf(records, domain, next)?.status !== "valid") return;
  await markKeyReplaced(tx, domain.id, new Date(at.getTime() + next.retireDays * dayMs));
  await signalToForget(tx, { kind: "domain", name: domain.name });
}

/** The state of the proof in these records: that of the active key, or of the key that replaces it. */
function proofIn(domain: Domain, keys: readonly DomainKey[], records: readonly SeenRecord[]): Proof {
  const verdicts = keys
    .filter(({ state }) => state !== "retiring")
    .flatMap((key) => recordOf(records, domain, key) ?? []);
  if (verdicts.some(({ status }) => status === "valid")) return "valid";
  const active = activeIn(keys);
  const verdict = active && recordOf(records, domain, active);
  return verdict !== undefined && isGone(verdict) ? "gone" : "unknown";
}

function isGone({ status }: Pick<Verdict, "status">): boolean {
  return status === "missing" || status === "invalid";
}

function activeIn(keys: readonly DomainKey[]): DomainKey | undefined {
  return keys.find(({ state }) => state === "active");
}

function recordOf(records: readonly SeenRecord[], { name }: Domain, { selector }: DomainKey): SeenRecord | undefined {
  return records.find((record) => record.name === selectorName(selector, name));
}

/** A rotation is checked like a new domain until the record of the next key is found. */
function rotationCheckAt(
  keys: readonly DomainKey[],
  records: readonly SeenRecord[],
  domain: Domain,
  at: Date,
  nextCheckAt: Date | null,
): Date | null {
  const next = keys.find(({ state }) => state === "next");
  if (next === undefined || nextCheckAt === null || recordOf(records, domain, next)?.status === "valid")
    return nextCheckAt;
  const soon = checkSoonAfter(next.madeAt, at);
  return soon < nextCheckAt ? soon : nextCheckAt;
}

/** The records as they are shown. An answer that did not come leaves a record valid that was so before. */
function seenNow(
  domain: Domain,
  keys: readonly DomainKey[],
  records: readonly SeenRecord[],
  isTaken: boolean,
): SeenRecord[] {
  const active = activeIn(keys);
  return records.map((record) => {
    const before = domain.recordsSeen.find(({ purpose, name }) => purpose === record.purpose && name === record.name);
    if (record.status === "unknown" && before?.status === "valid") return { ...before, problem: record.problem };
    const isProof = active !== undefined && record.name === selectorName(active.selector, domain.name);
    return isTaken && isProof ? { ...record, problem: "taken" } : record;
  });
}

/** A domain whose DKIM records are gone, as the check of another one with its name has found. */
function withoutProof(domain: Domain): Domain {
  const recordsSeen = domain.recordsSeen.map((record): SeenRecord => {
    return record.purpose === "dkim" ? { ...record, status: "missing", problem: null, found: [] } : record;
  });
  return { ...domain, recordsSeen };
}

/** The facts about a domain that other processes remember, beside its status. */
function readinessOf({ recordsSeen }: Domain): string {
  return recordsSeen.map(({ name, status }) => `${name} ${status === "valid"}`).join("\n");
}
