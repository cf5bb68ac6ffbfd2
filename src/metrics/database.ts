import type { Database } from "../database/db.ts";
import { remembered } from "../flows/remembered.ts";
import { findLogLagSeconds } from "../store/events/feeds.ts";
import { outboxKinds } from "../store/outbox/items.ts";
import { listOutboxDepths, type OutboxDepth } from "../store/outbox/outbox.ts";
import type { Registry, Samples } from "./registry.ts";

/** The least time between two counts of the outbox, however often the metrics are read. */
const countedEveryMs = 5_000;

const states = ["ready", "running", "waiting"] as const;

/** Measures the depth of the outbox, whether the database answers, and the use of its connections. */
export function watchDatabase(metrics: Registry, db: Database, now: () => Date): void {
  const depths = remembered(() => listOutboxDepths(db.api), countedEveryMs);

  const lag = remembered(() => findLogLagSeconds(db.api), countedEveryMs);

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
    "Mails to relay, events to deliver, mails that were taken and are not yet parsed: in line, in hand, put off",
    () => eachDepth((depth) => depth?.count ?? 0),
  );
  metrics.gauge("inboxd_outbox_oldest_seconds", "Age of the oldest of them; 0 where there is none", () =>
    eachDepth((depth) => (depth === undefined ? 0 : Math.max(0, (now().getTime() - depth.oldestAt.getTime()) / 1000))),
  );
  metrics.gauge(
    "inboxd_log_lag_seconds",
    "For how long the log has held back its oldest event that is not shown yet, since an older transaction of the same Postgres runs; 0 where none is held back",
    async () => [{ value: await lag() }],
  );
  metrics.gauge("inboxd_database_up", "1 when the database answered the last question, else 0", async () => [
    {
      value: await depths().then(
        () => 1,
        () => 0,
      ),
    },
  ]);
  metrics.gauge(
    "inboxd_database_connections",
    "The most connections of a pool",
    usage(({ size }) => size),
  );
  metrics.gauge(
    "inboxd_database_connections_in_use",
    "Connections in use",
    usage(({ taken }) => taken),
  );
  metrics.gauge(
    "inboxd_database_waiting",
    "Callers that wait for a connection",
    usage(({ waiting }) => waiting),
  );
}
