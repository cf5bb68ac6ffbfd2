import { type DayCounts, type DaysToCount, listMessagesByDay } from "../../store/mail/messages-by-day.ts";
import type { Deps } from "../deps.ts";

export interface Usage {
  countedUntil: Date;
  totals: { received: number; sent: number };
  /** Each of the days, oldest first. */
  days: DayCounts[];
}

/** Counts the mail of an account by day. Mail of deleted inboxes does not count. */
export async function accountUsage({ db, now }: Pick<Deps, "db" | "now">, asked: DaysToCount): Promise<Usage> {
  const countedUntil = now();
  const counted = new Map((await listMessagesByDay(db.api, asked)).map((counts) => [counts.day, counts]));
  const days = daysBetween(asked.from, asked.to).map((day) => counted.get(day) ?? { day, received: 0, sent: 0 });
  const sum = (name: "received" | "sent") => days.reduce((all, counts) => all + counts[name], 0);
  return { countedUntil, totals: { received: sum("received"), sent: sum("sent") }, days };
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
