import { Refusal, type RefusalDetails } from "./errors.ts";

export const plans = ["free", "developer", "enterprise"] as const;
export type Plan = (typeof plans)[number];

/** The limits of a plan. Zero means no limit. */
export interface Limits {
  sendsPerMinute: number;
  sendsPerDay: number;
  coldRecipientDaily: number;
  inboxesPerDay: number;
  loopEchoes: number;
  /** The next five are quotas: they do not pass with time. */
  inboxes: number;
  domains: number;
  keys: number;
  storageBytes: number;
  inboxBytes: number;
  /** Mails that an inbox receives in 60 seconds. */
  receivesPerMinute: number;
}

export type LimitName = keyof Limits;
export type PlanLimits = Readonly<Record<Plan, Limits>>;

/** An account, as far as its limits are concerned. */
export interface Limited {
  plan: Plan;
  /** The limits that the operator has set for this account alone. */
  limits?: Partial<Limits> | undefined;
}

export function limitsOf(ofPlans: PlanLimits, { plan, limits }: Limited): Limits {
  return { ...ofPlans[plan], ...limits };
}

export function perPlan<Value>(of: (plan: Plan) => Value): Record<Plan, Value> {
  return { free: of("free"), developer: of("developer"), enterprise: of("enterprise") };
}

/**
 * Parses `10` for every plan, `enterprise=100` for one of them, or both: `10,enterprise=100`. Returns the limit of each plan, or a fault as
 * the end of a sentence that begins with the name of the setting.
 */
export function parsePlanLimit(
  text: string,
  fallback: number,
  mostDigits = 9,
): { value: Record<Plan, number> } | string {
  const isNumber = (part: string) => /^\d{1,15}$/.test(part) && part.length <= mostDigits;
  const value = parsePerPlan(text, fallback, (part) => (isNumber(part) ? Number(part) : undefined));
  return value === undefined ? "must be a whole number, or one for a plan such as enterprise=100" : { value };
}

/** Parses one of these words for every plan, for one of them, or both: `head,enterprise=all`. Returns a fault as `parsePlanLimit` does. */
export function parsePlanChoice<Choice extends string>(
  text: string,
  choices: readonly Choice[],
  fallback: Choice,
): { value: Record<Plan, Choice> } | string {
  const value = parsePerPlan(text, fallback, (part) => choices.find((choice) => choice === part.toLowerCase()));
  return value === undefined
    ? `must be one of ${choices.join(", ")}, or one for a plan such as enterprise=${fallback}`
    : { value };
}

/** Parses values with commas between them, each for all plans or for the named one. Undefined if `read` returns that for one of them. */
function parsePerPlan<Value>(
  text: string,
  fallback: Value,
  read: (part: string) => Value | undefined,
): Record<Plan, Value> | undefined {
  let general = fallback;
  const own = new Map<string, Value>();
  for (const part of text.split(",")) {
    const [, plan, written = ""] = /^\s*(?:([a-z]+)\s*=\s*)?(\w+)\s*$/.exec(part) ?? [];
    const value = read(written);
    const isPlan = plan === undefined || plans.some((known) => known === plan);
    if (value === undefined || !isPlan) return undefined;
    if (plan === undefined) general = value;
    else own.set(plan, value);
  }
  return perPlan((plan) => own.get(plan) ?? general);
}

export const burstWindowMs = 60_000;

/** The counted sends of an inbox. The store writes a new send only if the inbox has not changed since they were counted. */
export interface SendUsage {
  /** The number of accepted sends in the last 60 seconds, and the instant of the oldest one. */
  inWindow: number;
  oldestInWindowAt: Date | undefined;
  /** The UTC day in force (see `dayInForce`), and its number of sends. A send counts once for each recipient. */
  day: string;
  today: number;
}

/**
 * The recipients of a send who are not suppressed. Each counts for the daily limit. A cold recipient, which the inbox does not know,
 * has a daily limit of its own.
 */
export interface CountedRecipients {
  count: number;
  /** The cold recipients, with the number of mails that the inbox has sent to each of them today. */
  cold: readonly { address: string; sentToday: number }[];
  /** Whether the send has several recipients, so that a refusal must name those who are over their limit. */
  areSeveral: boolean;
}

/** Throws a refusal for the first limit that this send would exceed. The order is burst, day, cold recipient (contract §2). */
export function refuseOverLimit(usage: SendUsage, recipients: CountedRecipients, limits: Limits, now: Date): void {
  if (reached(usage.inWindow, limits.sendsPerMinute)) {
    const resetsAt = new Date((usage.oldestInWindowAt ?? now).getTime() + burstWindowMs);
    throw overLimit("rate_limit_exceeded", "sends a minute", limits.sendsPerMinute, usage.inWindow, resetsAt, now);
  }
  if (reached(usage.today + recipients.count - 1, limits.sendsPerDay)) {
    throw overLimit(
      "daily_limit_exceeded",
      "sends a day",
      limits.sendsPerDay,
      usage.today,
      endOfUtcDay(usage.day),
      now,
    );
  }
  const passing = recipients.cold.filter(({ sentToday }) => reached(sentToday, limits.coldRecipientDaily));
  const [first] = passing;
  if (first !== undefined) {
    const what = "sends a day to a recipient that this inbox does not know";
    throw overLimit(
      "cold_outreach_limit",
      what,
      limits.coldRecipientDaily,
      first.sentToday,
      endOfUtcDay(usage.day),
      now,
      "send",
      recipients.areSeveral ? { recipients: passing.map(({ address }) => address) } : {},
    );
  }
}

/** The UTC day in force (see `dayInForce`), and the number of inboxes and aliases that an account created on it. */
export interface InboxUsage {
  day: string;
  today: number;
}

/** Refuses as many addresses as `adds` (an inbox or an alias is one) if the account would have made too many on the day. */
export function refuseOverInboxLimit(
  { day, today }: InboxUsage,
  limits: Limits,
  now: Date,
  { doing = "create inbox", adds = 1 } = {},
): void {
  const { inboxesPerDay } = limits;
  if (!reached(today + adds - 1, inboxesPerDay)) return;
  throw overLimit("inbox_creation_limit", "inboxes a day", inboxesPerDay, today, endOfUtcDay(day), now, doing);
}

const quotas = {
  inboxes: "inboxes",
  domains: "domains",
  keys: "keys",
  storageBytes: "bytes of mail of an account",
  inboxBytes: "bytes of mail of an inbox",
} satisfies Partial<Record<LimitName, string>>;

export type Quota = keyof typeof quotas;

/** Refuses a request that would use more of a quota than there is. `adds` is what the request itself would use. */
export function refuseOverQuota(
  quota: Quota,
  { used, adds = 1, limits, doing }: { used: number; adds?: number; limits: Limits; doing: string },
): void {
  const limit = limits[quota];
  if (limit === 0 || used + adds <= limit) return;
  const resource = quota === "storageBytes" || quota === "inboxBytes" ? "storage_bytes" : quota;
  throw new Refusal("quota_exceeded", `Cannot ${doing}: the limit of ${limit} ${quotas[quota]} is reached`, {
    extra: { resource, limit, used },
  });
}

/** The bytes of mail that an inbox may still take; undefined without a quota, and 0 or less for a full inbox. */
export function roomForMail(
  { inboxBytes, storageBytes }: Limits,
  used: { storageBytes: number; accountStorageBytes: number },
): number | undefined {
  const ofInbox = inboxBytes === 0 ? Number.POSITIVE_INFINITY : inboxBytes - used.storageBytes;
  const ofAccount = storageBytes === 0 ? Number.POSITIVE_INFINITY : storageBytes - used.accountStorageBytes;
  const room = Math.min(ofInbox, ofAccount);
  return room === Number.POSITIVE_INFINITY ? undefined : room;
}

/** Whether an inbox may not receive another mail yet. `receivedAt` is when the first of its last `receivesPerMinute` mails came. */
export function receivesTooMany(receivedAt: Date | undefined, now: Date): boolean {
  return receivedAt !== undefined && now.getTime() - receivedAt.getTime() < burstWindowMs;
}

/** Limits on requests that make the service call a server of somebody else. They are the same for all plans. */
export const requestLimits = {
  redeliver: { most: 60, windowMs: burstWindowMs, doing: "redeliver event", what: "redeliveries a minute" },
  test_webhook: { most: 10, windowMs: burstWindowMs, doing: "test webhook", what: "tests a minute" },
  recover: { most: 10, windowMs: burstWindowMs, doing: "recover events", what: "recoveries a minute" },
  create_webhook: {
    most: 20,
    windowMs: 3_600_000,
    doing: "create webhook endpoint",
    what: "new webhook endpoints an hour",
  },
} as const;

export type PacedAction = keyof typeof requestLimits;

export function overRequestLimit(action: PacedAction, oldestInWindowAt: Date, now: Date): Refusal {
  const { most, windowMs, doing, what } = requestLimits[action];
  const resetsAt = new Date(oldestInWindowAt.getTime() + windowMs);
  return overLimit("rate_limit_exceeded", what, most, most, resetsAt, now, doing);
}

/** The `RateLimit` and `RateLimit-Policy` fields of the response to a send, without limits that are off. */
export function rateLimitFields(usage: SendUsage, limits: Limits, now: Date): Record<string, string> {
  const policies: string[] = [];
  const states: string[] = [];
  if (limits.sendsPerMinute > 0) {
    const resetsAt = usage.oldestInWindowAt ? usage.oldestInWindowAt.getTime() + burstWindowMs : now.getTime();
    policies.push(`"burst";q=${limits.sendsPerMinute};w=60`);
    states.push(`"burst";r=${left(usage.inWindow, limits.sendsPerMinute)};t=${secondsUntil(new Date(resetsAt), now)}`);
  }
  if (limits.sendsPerDay > 0) {
    policies.push(`"daily";q=${limits.sendsPerDay};w=86400`);
    states.push(`"daily";r=${left(usage.today, limits.sendsPerDay)};t=${secondsUntil(endOfUtcDay(usage.day), now)}`);
  }
  return policies.length === 0 ? {} : { "RateLimit-Policy": policies.join(", "), RateLimit: states.join(", ") };
}

export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}

export function endOfUtcDay(day: string): Date {
  return new Date(Date.parse(day) + dayMs);
}

const dayMs = 86_400_000;

/**
 * The day for which to count: today in UTC, or the last counted day if that is later. If a clock is set back, or the clock of another
 * process is slow, the day must not go back, because the count would start again at 0.
 */
export function dayInForce(lastCountedOn: string | null, now: Date): string {
  const today = utcDay(now);
  return lastCountedOn !== null && lastCountedOn > today ? lastCountedOn : today;
}

/** The sliding window of sends. */
export interface Window {
  /** Sends at this instant or before are outside. */
  after: Date;
  /** The end, one second after the present, because the last messages of an inbox may be dated slightly in the future. */
  upTo: Date;
}

/** The window of the burst limit. Sends dated more than a second in the future do not count; there are some after a clock was set back. */
export function burstWindow(now: Date): Window {
  return { after: new Date(now.getTime() - burstWindowMs), upTo: new Date(now.getTime() + mostAheadMs) };
}

const mostAheadMs = 1000;

function reached(used: number, limit: number): boolean {
  return limit > 0 && used >= limit;
}

function left(used: number, limit: number): number {
  return Math.max(0, limit - used);
}

function secondsUntil(at: Date, now: Date): number {
  return Math.max(0, Math.ceil((at.getTime() - now.getTime()) / 1000));
}

type LimitReason =
  | "rate_limit_exceeded"
  | "daily_limit_exceeded"
  | "cold_outreach_limit"
  | "inbox_creation_limit"
  | "loop_detected";

export function overLimit(
  reason: LimitReason,
  what: string,
  limit: number,
  used: number,
  resetsAt: Date,
  now: Date,
  doing = "send",
  more: RefusalDetails["extra"] = {},
): Refusal {
  return new Refusal(reason, `Cannot ${doing}: the limit of ${limit} ${what} is reached`, {
    extra: { limit, used, resets_at: resetsAt.toISOString(), ...more },
    retryAfterSeconds: Math.max(1, secondsUntil(resetsAt, now)),
  });
}
