import type { Database } from "../database/db.ts";
import { type Listeners, listenerKinds } from "../flows/listeners.ts";
import type { MetricsDeps } from "../http/routes/metrics.ts";
import type { SmtpListener } from "../smtp/listener.ts";
import { watchDatabase } from "./database.ts";
import { watchProcess } from "./process.ts";
import { contentType, type ProcessValues, registry } from "./registry.ts";
import { unwatched, type Watch, watch } from "./watch.ts";

export interface ServiceMetrics {
  watch: Watch;
  /** The text to serve and its content type; undefined if metrics are off. */
  served: Pick<MetricsDeps, "text" | "contentType"> | undefined;
  /** The values that other processes add to theirs. */
  values: () => Promise<ProcessValues>;
  /** Measures the sessions of the SMTP listener, the memory that they hold, and its certificate. Called once the listener exists. */
  listener(smtp: Pick<SmtpListener, "sessions" | "heldBytes" | "certificateExpiresAt">): void;
  stop(): void;
}

export interface MetricsFacts {
  isWanted: boolean;
  db: Database;
  version: string;
  now: () => Date;
  listeners: Pick<Listeners, "count">;
  /** The other processes that serve the same page of metrics; undefined if there are none. */
  siblings: Siblings | undefined;
}

/** The other processes of the service at the same ports. Any of them may answer a request for the metrics. */
export interface Siblings {
  /** The values of the others, and of those that have ended. */
  values(): Promise<readonly ProcessValues[]>;
  /** Takes the values of this process for the time after its end. */
  keep(values: ProcessValues): void;
}

export function serviceMetrics({ isWanted, db, version, now, listeners, siblings }: MetricsFacts): ServiceMetrics {
  if (!isWanted) {
    return {
      watch: unwatched,
      served: undefined,
      values: async () => ({ counters: {}, gauges: {} }),
      listener: () => undefined,
      stop: () => undefined,
    };
  }
  const metrics = registry();
  const stop = watchProcess(metrics, { version, engine: db.engine, now });
  const watched = watch(metrics);
  watchDatabase(metrics, db, now);
  metrics.gauge(
    "inboxd_listeners",
    "Open requests that wait for mail (wait) or stream events (sse, ws)",
    () => listenerKinds.map((kind) => ({ labels: { kind }, value: listeners.count(kind) })),
    "sum",
  );

  /** The page for all processes. The values after it are kept, so that the counters of the next page are never smaller. */
  async function text(): Promise<string> {
    const page = await metrics.text(await siblings?.values());
    siblings?.keep(await metrics.values());
    return page;
  }

  return {
    watch: watched,
    served: { text, contentType },
    values: metrics.values,
    listener(smtp) {
      metrics.gauge("inboxd_smtp_sessions", "Open SMTP sessions", () => [{ value: smtp.sessions }], "sum");
      metrics.gauge(
        "inboxd_smtp_held_bytes",
        "Octets in memory of mails that are being received",
        () => [{ value: smtp.heldBytes }],
        "sum",
      );
      metrics.gauge(
        "inboxd_certificate_expires_seconds",
        "Time until the certificate of STARTTLS expires; of several processes, until the first one does",
        () => [{ value: (smtp.certificateExpiresAt.getTime() - now().getTime()) / 1000 }],
        "least",
      );
    },
    stop,
  };
}
