import type { DisabledReason } from "../domain/events/endpoint.ts";
import { subjectOfDestination } from "../domain/send/recipients/destinations.ts";
import type { DeliverySettlement } from "../store/outbox/delivery-settlements.ts";
import type { OutboxKind } from "../store/outbox/items.ts";
import type { DestinationSettlement } from "../store/send/destinations.ts";
import type { RelaySettlement } from "../store/send/relaying.ts";
import { type DeliverWebhookDeps, deliverWebhookJob } from "./deliver-webhook.ts";
import { notifier } from "./outbox/notifier.ts";
import { type OutboxWorker, outboxWorker } from "./outbox/outbox.ts";
import { type ParseMailDeps, parseMailJob } from "./parse-mail.ts";
import { type PruneDeps, prune } from "./prune.ts";
import { relayDestinationJob } from "./relay-destination.ts";
import { type RelayEmailDeps, relayEmailJob } from "./relay-email.ts";

export interface WorkerDeps extends RelayEmailDeps, DeliverWebhookDeps, ParseMailDeps, PruneDeps {
  observe?: WorkerObserver;
}

/** Told what came of each attempt, for counters, once it is written down. */
export interface WorkerObserver {
  relayed?(settlement: RelaySettlement): void;
  relayedToSeveral?(settlement: DestinationSettlement): void;
  delivered?(settlement: DeliverySettlement): void;
  /** Of an endpoint, whoever did it. */
  disabled?(reason: DisabledReason): void;
}

/** What the service does by itself, in the background. */
export interface Workers {
  /** Says that there is work of a kind, here and to the other processes. It may be lost. */
  nudge(kind: OutboxKind): void;
  /**
   * Resolves once an attempt to relay this message has been written down by this process, to each of its destinations where it has
   * such, or after the time.
   */
  settled(messageId: string, timeoutMs: number, destinations?: number): Promise<void>;
  /** Claims no more, lets what is in hand end; what has not ended after `graceMs` is cut off and due again at once. */
  stop(graceMs: number): Promise<void>;
}

/** The safety net: nothing depends on a wake-up arriving. */
const tickMs = 1000;
const pruneMs = 60_000;

export async function startWorkers(deps: WorkerDeps): Promise<Workers> {
  const [claimer = 0] = new Int32Array(Uint8Array.from(deps.randomBytes(4)).buffer);
  const isAlone = deps.db.engine === "embedded";
  const context = { db: deps.db.work, now: deps.now, random: deps.random, log: deps.log, claimer, isAlone };
  const { observe = {} } = deps;
  const relay: OutboxWorker = outboxWorker(context, {
    ...relayEmailJob(deps, (lanes) => relay.recover(lanes)),
    settled: observe.relayed,
  });
  const destination: OutboxWorker = outboxWorker(context, {
    ...relayDestinationJob(deps, (lanes) => destination.recover(lanes)),
    settled: observe.relayedToSeveral,
  });
  const webhook = outboxWorker(context, {
    ...deliverWebhookJob({ ...deps, disabled: observe.disabled }),
    settled: observe.delivered,
  });
  const parse = outboxWorker(context, parseMailJob(deps));
  const workers: Record<OutboxKind, OutboxWorker> = { relay, destination, webhook, parse };
  const others = await notifier(deps, (kind) => workers[kind].wake());

  let stopping = false;
  let pruning: Promise<unknown> = Promise.resolve();
  const pruneTimer = setInterval(() => {
    pruning = pruning
      .then(() => prune(deps, () => stopping))
      .catch((err: unknown) => deps.log.warn({ err }, "cannot prune"));
  }, pruneMs);
  // The first look is a tick from now: a start has the doors to open first.
  const timer = setInterval(() => {
    for (const worker of Object.values(workers)) worker.tick();
  }, tickMs);

  return {
    nudge(kind) {
      workers[kind].wake();
      others.tell(kind);
    },
    async settled(messageId, timeoutMs, destinations) {
      if (destinations === undefined) return relay.settled(messageId, timeoutMs);
      const places = Array.from({ length: destinations }, (_, place) => place);
      await Promise.all(places.map((place) => destination.settled(subjectOfDestination(messageId, place), timeoutMs)));
    },
    async stop(graceMs) {
      stopping = true;
      clearInterval(timer);
      clearInterval(pruneTimer);
      await Promise.all([pruning, others.close(), ...Object.values(workers).map((worker) => worker.stop(graceMs))]);
    },
  };
}
