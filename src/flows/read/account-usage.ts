import {
  type AskedUsage,
  type CurrentUsage,
  findCountedUntil,
  findCurrentUsage,
  listUsageByDay,
  listUsageByInbox,
  listUsageOfAll,
  type UsageCounts,
} from "../../store/account/usage.ts";
import type { Deps } from "../deps.ts";

export interface Usage {
  countedUntil: Date;
  totals: UsageCounts;
  /** Each of the days, oldest first; or the inboxes with the most mail. */
  data: readonly (UsageCounts & ({ day: string } | { inboxId: string | null }))[];
  current: Omit<CurrentUsage, "countedUntil">;
}

/** The most inboxes of an answer by inbox. */
export const mostInboxesShown = 1_000;

/** The usage of an account by day or by inbox, with the mail of deleted inboxes. */
export async function accountUsage({ db }: Pick<Deps, "db">, asked: AskedUsage, by: "day" | "inbox"): Promise<Usage> {
  const current = await findCurrentUsage(db.api, asked);
  if (current === undefined) throw new Error("Cannot show usage: the account is gone");
  const { countedUntil, ...now } = current;
  const used = by === "day" ? await byDay(db.api, asked) : await byInbox(db.api, asked);
  return { countedUntil, ...used, current: now };
}

/** The usage of all accounts by day, or of those with the most mail. */
export async function usageOfAll({ db }: Pick<Deps, "db">, asked: { from: string; to: string; by: "day" | "account" }) {
  const rows = await listUsageOfAll(db.api, { ...asked, limit: mostInboxesShown });
  const [totals = { ...none, key: null }, ...found] = rows;
  const data = found.map((row) => ({ [asked.by === "day" ? "day" : "accountId"]: row.key ?? "", ...countsOf(row) }));
  return { countedUntil: await findCountedUntil(db.api), totals: countsOf(totals), data };
}

async function byDay(db: Deps["db"]["api"], asked: AskedUsage): Promise<Pick<Usage, "totals" | "data">> {
  const counted = new Map((await listUsageByDay(db, asked)).map((counts) => [counts.day, counts]));
  const data = daysBetween(asked.from, asked.to).map((day) => counted.get(day) ?? { day, ...none });
  const sum = (name: keyof UsageCounts) => data.reduce((all, counts) => all + counts[name], 0);
  return { totals: { ...none, ...Object.fromEntries(names.map((name) => [name, sum(name)])) }, data };
}

async function byInbox(db: Deps["db"]["api"], asked: AskedUsage): Promise<Pick<Usage, "totals" | "data">> {
  const [totals = none, ...inboxes] = await listUsageByInbox(db, asked, mostInboxesShown);
  return { totals: countsOf(totals), data: inboxes.map((row) => ({ inboxId: row.inboxId || null, ...countsOf(row) })) };
}

const none: UsageCounts = { received: 0, receivedBytes: 0, sent: 0, sentBytes: 0, inboxesCreated: 0 };
const names = Object.keys(none) as (keyof UsageCounts)[];

function countsOf({ received, receivedBytes, sent, sentBytes, inboxesCreated }: UsageCounts): UsageCounts {
  return { received, receivedBytes, sent, sentBytes, inboxesCreated };
}

const dayMs = 86_400_000;

/** The day in UTC at an instant, as `2026-03-21`. */
export function dayAt(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** The day this many days before another. */
export function daysBefore(day: string, days: number): string {
  return dayAt(new Date(Date.parse(day) - days * dayMs));
}

/** The number of days from one day to another, both included; 0 or less if the first is later. */
export function countDays(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / dayMs + 1;
}

function daysBetween(from: string, to: string): string[] {
  return Array.from({ length: countDays(from, to) }, (_, index) => daysBefore(from, -index));
}
