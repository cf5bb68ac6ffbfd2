import type { Database } from "../store/db.ts";
import { listOutboxDepths, type OutboxDepth } from "../store/outbox-depth.ts";
import type { Registry, Samples } from "./registry.ts";

/** However many read the metrics, and however often: the outbox is counted once in so long. */
const countedEveryMs = 5_000;

const kinds = ["relay", "webhook"] as const;
const states = ["ready", "running", "waiting"] as const;

/** What waits in the outbox, whether the database answers, and how full the way to it is. */
export function watchDatabase(metrics: Registry, db: Database, now: () => Date): void {
  const depths = remembered(() => listOutboxDepths(db.api), countedEveryMs);

  async function eachDepth(measure: (depth: OutboxDepth | undefined) => number): Promise<Samples> {
    const found = await depths();
    return kinds.flatMap((kind) =>
      states.map((state) => ({
        labels: { kind, state },
        value: measure(found.find((depth) => depth.kind === kind && depth.state === state)),
      })),
    );
  }

  const usage = (read: (pool: ReturnType<Database["usage"]>[string]) => number) => () =>
    Object.entries(db.usage()).map(([pool, used]) => ({ labels: { pool }, value: read(used) }));

  metrics.gauge("inboxd_outbox_items", "Mails to relay and events to deliver: in line, in hand, put off", () =>
    eachDepth((depth) => depth?.count ?? 0),
  );
  metrics.gauge("inboxd_outbox_oldest_seconds", "Age of the oldest of them; 0 where there is none", () =>
    eachDepth((depth) => (depth === undefined ? 0 : Math.max(0, (now().getTime() - depth.oldestAt.getTime()) / 1000))),
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

/** One answer for all who ask within the time, also while it is on its way. */
function remembered<T>(read: () => Promise<T>, forMs: number): () => Promise<T> {
  let answer: Promise<T> | undefined;
  let askedMs = 0;
  return () => {
    const nowMs = performance.now();
    if (answer === undefined || nowMs - askedMs >= forMs) {
      answer = read();
      askedMs = nowMs;
    }
    return answer;
  };
}
