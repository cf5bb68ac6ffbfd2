import { beginningOfIds, type IdKind, instantOfId } from "./ids.ts";

/**
 * The tables that may be partitioned by time, each with the first column of its primary key. That column has ids of one kind, which sort by
 * time, so a range of ids is a range of time. A draft's id becomes that of its message, so a row of `messages` or `attachments` may be
 * inserted long after the time of its id.
 */
export const partitionable = {
  events: { key: "id", kind: "evt" },
  deliveries: { key: "event_id", kind: "evt" },
  messages: { key: "id", kind: "msg" },
  attachments: { key: "message_id", kind: "msg" },
  source_chunks: { key: "source_id", kind: "src" },
} as const satisfies Readonly<Record<string, { key: string; kind: IdKind }>>;

export type Partitionable = keyof typeof partitionable;
export const partitionableTables = Object.keys(partitionable) as Partitionable[];

/** The tables whose partitions are dropped together: an event goes with its deliveries. */
export const eventTables = ["events", "deliveries"] as const satisfies readonly Partitionable[];

export const partitionIntervals = ["day", "week", "month"] as const;
export type PartitionInterval = (typeof partitionIntervals)[number];

/** The rows whose ids are at or above `from` and below `to`. The first partition of a table has no `from`. */
export interface Partition {
  name: string;
  from: string | undefined;
  to: string;
}

/** The partitions of some tables, each in the order of time. */
export type Partitions = ReadonlyMap<Partitionable, readonly Partition[]>;

/** The number of partitions after the current one. They are used up only if the service makes no more for days. */
const partitionsAhead = { day: 7, week: 3, month: 2 } as const;
const dayMs = 86_400_000;

/** The start of the day, week (Monday) or month of an instant, in UTC. */
export function startOf(interval: PartitionInterval, at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (interval === "month") return new Date(Date.UTC(year, month));
  return new Date(Date.UTC(year, month, interval === "day" ? day : day - ((at.getUTCDay() + 6) % 7)));
}

/** The start of the interval after that of an instant. */
export function nextStart(interval: PartitionInterval, at: Date): Date {
  const start = startOf(interval, at);
  if (interval === "month") return new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1));
  return new Date(start.getTime() + (interval === "day" ? 1 : 7) * dayMs);
}

/**
 * The end of the first partition, which gets all rows that a table has. It is at least a day away: while the table becomes a partition, it
 * refuses ids beyond that end.
 */
export function firstEnd(interval: PartitionInterval, now: Date): Date {
  let end = nextStart(interval, now);
  while (end.getTime() - now.getTime() < dayMs) end = nextStart(interval, end);
  return end;
}

/** The interval of the partitions of a table, as its last one shows. Undefined if only the first one is there. */
export function intervalOf(partitions: readonly Partition[]): PartitionInterval | undefined {
  const last = partitions.at(-1);
  if (last?.from === undefined) return undefined;
  const days = (instantOfId(last.to).getTime() - instantOfId(last.from).getTime()) / dayMs;
  return days <= 1 ? "day" : days <= 7 ? "week" : "month";
}

/** The partitions that a table lacks after its last one, for now and for some time ahead. It has none if it is not partitioned. */
export function missingOf(partitions: readonly Partition[], now: Date): { from: Date; to: Date }[] {
  const interval = intervalOf(partitions);
  const last = partitions.at(-1);
  if (interval === undefined || last === undefined) return [];
  let upTo = nextStart(interval, now);
  for (let count = 0; count < partitionsAhead[interval]; count += 1) upTo = nextStart(interval, upTo);
  const missing: { from: Date; to: Date }[] = [];
  for (let from = instantOfId(last.to); from < upTo; ) {
    const to = nextStart(interval, from);
    missing.push({ from, to });
    from = to;
  }
  return missing;
}

/** The name of the partition from an instant on, and of the one with everything before an instant. */
export function partitionName(table: Partitionable, from: Date): string {
  return `${table}_${dateOf(from)}`;
}

export function firstPartitionName(table: Partitionable, to: Date): string {
  return `${table}_before_${dateOf(to)}`;
}

function dateOf(at: Date): string {
  return at.toISOString().slice(0, 10).replaceAll("-", "");
}

/** The bound of a partition at an instant. */
export function boundAt(table: Partitionable, at: Date): string {
  return beginningOfIds(partitionable[table].kind, at);
}

/**
 * The ends up to which the first partitions of a table can become one, the earliest first: each is that of a partition after the first one,
 * and not later than `before`.
 */
export function endsBefore(partitions: readonly Partition[], before: Date): Date[] {
  return partitions
    .slice(1)
    .map(({ to }) => instantOfId(to))
    .filter((end) => end <= before);
}

/** The instant from which on a partitioned table has no partition for new rows, if none is added. */
export function endOf(partitions: readonly Partition[]): Date {
  const last = partitions.at(-1);
  return last === undefined ? new Date(0) : instantOfId(last.to);
}
