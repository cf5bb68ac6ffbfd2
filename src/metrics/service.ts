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
  /** The text to serve and its content type; undefined if metrics are off. */
  served: Pick<MetricsDeps, "text" | "contentType"> | undefined;
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
}

export function serviceMetrics({ isWanted, db, version, now, listeners }: MetricsFacts): ServiceMetrics {
  if (!isWanted) return { watch: unwatched, served: undefined, listener: () => undefined, stop: () => undefined };
  const metrics = registry();
  const stop = watchProcess(metrics, { version, engine: db.engine, now });
  const watched = watch(metrics);
  watchDatabase(metrics, db, now);
  metrics.gauge("inboxd_listeners", "Open requests that wait for mail (wait) or stream events (sse, ws)", () =>
    listenerKinds.map((kind) => ({ labels: { kind }, value: listeners.count(kind) })),
  );
  return {
    watch: watched,
    served: { text: metrics.text, contentType },
    listener(smtp) {
      metrics.gauge("inboxd_smtp_sessions", "Open SMTP sessions", () => [{ value: smtp.sessions }]);
      metrics.gauge("inboxd_smtp_held_bytes", "Octets in memory of mails that are being received", () => [
        { value: smtp.heldBytes },
      ]);
      metrics.gauge("inboxd_certificate_expires_seconds", "Time until the certificate of STARTTLS expires", () => [
        { value: (smtp.certificateExpiresAt.getTime() - now().getTime()) / 1000 },
      ]);
    },
    stop,
  };
}
