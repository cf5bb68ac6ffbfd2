import type { Database } from "../database/db.ts";
import { domainStatuses } from "../domain/domains/readiness.ts";
import { instantOfId } from "../domain/ids.ts";
import { missingOf, type Partition, partitionableTables } from "../domain/partitions.ts";
import { openStates } from "../domain/send/draft.ts";
import { remembered } from "../flows/remembered.ts";
import { countDomainsByStatus } from "../store/account/domains.ts";
import { findUsageLagSeconds } from "../store/account/usage.ts";
import { findLogLagSeconds } from "../store/events/feeds.ts";
import { findOldestUnpacked } from "../store/mail/segments.ts";
import { outboxKinds } from "../store/outbox/items.ts";
import { listOutboxDepths, type OutboxDepth } from "../store/outbox/outbox-rows.ts";
import { countOpenDraftsByState } from "../store/send/drafts.ts";
import { listPartitions } from "../store/upkeep/partitions.ts";
import type { Registry, Samples } from "./registry.ts";

/** The shortest time between two counts of the outbox. Metrics that are read more often show the last count. */
const countedEveryMs = 5_000;

const states = ["ready", "running", "waiting"] as const;

/** Measures the depth of the outbox, the lag of the log, whether the database answers, and the use of its connections. */
export function watchDatabase(metrics: Registry, db: Database, now: () => Date): void {
  const depths = remembered(() => listOutboxDepths(db.api), countedEveryMs);

  const lag = remembered(() => findLogLagSeconds(db.api), countedEveryMs);

  const usageLag = remembered(() => findUsageLagSeconds(db.api, now()), countedEveryMs);

  async function eachDepth(measure: (depth: OutboxDepth | undefined) => number): Promise<Samples> {
    const found = await depths();
    return outboxKinds.flatMap((kind) =>
      states.map((state) => ({
        labels: { kind, state },
        value: measure(found.find((depth) => depth.kind === kind && depth.state === state)),
      })),
    );
  }

  const usage = (read: (pool: ReturnType<Database["usage"]>[string]) => number) => () =>
    Object.entries(db.usage()).map(([pool, used]) => ({ labels: { pool }, value: read(used) }));

  metrics.gauge(
    "inboxd_outbox_items",
    "Outbox items by kind (relay: mail to send, webhook: events to deliver, parse: accepted mail to parse) and state (ready, running, waiting)",
    () => eachDepth((depth) => depth?.count ?? 0),
    "same",
  );
  metrics.gauge(
    "inboxd_outbox_oldest_seconds",
    "Age of the oldest outbox item; 0 if there is none",
    () =>
      eachDepth((depth) =>
        depth === undefined ? 0 : Math.max(0, (now().getTime() - depth.oldestAt.getTime()) / 1000),
      ),
    "same",
  );
  const domains = remembered(() => countDomainsByStatus(db.api), countedEveryMs);
  metrics.gauge(
    "inboxd_domains",
    "Own and shared domains by status",
    async () => {
      const counted = await domains();
      return domainStatuses.map((status) => ({
        labels: { status },
        value: counted.find((each) => each.status === status)?.count ?? 0,
      }));
    },
    "same",
  );
  const drafts = remembered(() => countOpenDraftsByState(db.api), countedEveryMs);
  metrics.gauge(
    "inboxd_drafts",
    "Mail that is not sent yet, by state: draft, scheduled, awaiting_approval",
    async () => {
      const counted = await drafts();
      return openStates.map((state) => ({
        labels: { state },
        value: counted.find((each) => each.state === state)?.count ?? 0,
      }));
    },
    "same",
  );
  metrics.gauge(
    "inboxd_log_lag_seconds",
    "Seconds that the oldest hidden event of the log has waited for an older transaction of the same Postgres; 0 if no event is hidden",
    async () => [{ value: await lag() }],
    "same",
  );
  metrics.gauge(
    "inboxd_usage_lag_seconds",
    "Seconds since the instant up to which all mail is counted for /v1/usage",
    async () => [{ value: await usageLag() }],
    "same",
  );
  const oldest = remembered(async () => db.api.blobs && findOldestUnpacked(db.api), countedEveryMs);
  metrics.gauge(
    "inboxd_blobs_oldest_seconds",
    "Age of the oldest raw mail or attachment that waits in the database to be moved to the object store; 0 if there is none, or without BLOBS",
    async () => {
      const sourceId = await oldest();
      const ageMs = sourceId === undefined ? 0 : now().getTime() - instantOfId(sourceId).getTime();
      return [{ value: Math.max(0, ageMs / 1000) }];
    },
    "same",
  );
  const partitions = remembered(() => listPartitions(db.api), countedEveryMs);
  async function eachTable(measure: (partitions: readonly Partition[]) => number): Promise<Samples> {
    const found = await partitions();
    return partitionableTables.map((table) => ({ labels: { table }, value: measure(found.get(table) ?? []) }));
  }
  metrics.gauge(
    "inboxd_partitions",
    "Partitions of each table that can have them; 0 if it has none",
    () => eachTable(({ length }) => length),
    "same",
  );
  metrics.gauge(
    "inboxd_partitions_missing",
    "Partitions that should have been added by now, ahead of new rows",
    () => eachTable((own) => missingOf(own, now()).length),
    "same",
  );
  metrics.gauge(
    "inboxd_database_up",
    "1 if the database answered the last query, else 0",
    async () => [
      {
        value: await depths().then(
          () => 1,
          () => 0,
        ),
      },
    ],
    "same",
  );
  metrics.gauge(
    "inboxd_database_connections",
    "The largest number of connections of a pool",
    usage(({ size }) => size),
    "sum",
  );
  metrics.gauge(
    "inboxd_database_connections_in_use",
    "Connections in use",
    usage(({ taken }) => taken),
    "sum",
  );
  metrics.gauge(
    "inboxd_database_waiting",
    "Operations that wait for a connection",
    usage(({ waiting }) => waiting),
    "sum",
  );
}
