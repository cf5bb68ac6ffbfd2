import type { Database } from "../database/db.ts";
import { type Listeners, listenerKinds } from "../flows/listeners.ts";
import type { MetricsDeps } from "../http/routes/metrics.ts";
import type { SmtpListener } from "../smtp/listener.ts";
import { watchDatabase } from "./database.ts";
import { watchProcess } from "./process.ts";
import { contentType, registry } from "./registry.ts";
import { unwatched, type Watch, watch } from "./watch.ts";

export interface ServiceMetrics {
  watch: Watch;
  /** The registry to serve; undefined if metrics are off, and then nothing is counted. */
  served: Pick<MetricsDeps, "text" | "contentType"> | undefined;
  /** Measures the sessions of the SMTP listener, once it exists. */
  listener(smtp: Pick<SmtpListener, "sessions" | "heldBytes">): void;
  stop(): void;
}

export interface MetricsFacts {
  isWanted: boolean;
  db: Database;
  version: string;
  now: () => Date;
  listeners: Pick<Listeners, "count">;
}

export function serviceMetrics({ isWanted, db, version, now, listeners }: MetricsFacts): ServiceMetrics {
  if (!isWanted) return { watch: unwatched, served: undefined, listener: () => undefined, stop: () => undefined };
  const metrics = registry();
  const stop = watchProcess(metrics, { version, engine: db.engine, now });
  const watched = watch(metrics);
  watchDatabase(metrics, db, now);
  metrics.gauge("inboxd_listeners", "Requests that wait (wait) or stream (sse, ws)", () =>
    listenerKinds.map((kind) => ({ labels: { kind }, value: listeners.count(kind) })),
  );
  return {
    watch: watched,
    served: { text: metrics.text, contentType },
    listener(smtp) {
      metrics.gauge("inboxd_smtp_sessions", "SMTP sessions that are open", () => [{ value: smtp.sessions }]);
      metrics.gauge("inboxd_smtp_held_bytes", "Octets of mails in memory that are coming in", () => [
        { value: smtp.heldBytes },
      ]);
    },
    stop,
  };
}
