import type { DisabledReason } from "../domain/events/endpoint.ts";
import { subjectOfDestination } from "../domain/send/recipients/destinations.ts";
import type { DeliverySettlement } from "../store/outbox/delivery-settlements.ts";
import type { OutboxKind } from "../store/outbox/items.ts";
import type { RelaySettlement } from "../store/send/relaying.ts";
import { type DeliverWebhookDeps, deliverWebhookJob } from "./deliver-webhook.ts";
import { startInboxExpiry } from "./expire-inboxes.ts";
import { partitionKeeper } from "./keep-partitions.ts";
import type { WrapJob } from "./outbox/job.ts";
import { notifier } from "./outbox/notifier.ts";
import { type OutboxWorker, outboxWorker } from "./outbox/outbox-worker.ts";
import { type ParseMailDeps, parseMailJob } from "./parse-mail.ts";
import { type PruneDeps, prune } from "./prune.ts";
import { type RelayEmailDeps, relayEmailJob } from "./relay-email.ts";
import { emptyRemovedThreads, messageExpirer, trashEmptier } from "./remove-mail.ts";

export interface WorkerDeps extends RelayEmailDeps, DeliverWebhookDeps, ParseMailDeps, PruneDeps {
  messageRetentionDays: number;
  trashDays: number;
  observe?: WorkerObserver;
}

/** Called with the result of each attempt, for counters, once it is recorded. */
export interface WorkerObserver {
  /** Wraps each job in one that does the same, and is observed. */
  wrap?: WrapJob;
  relayed?(settlement: RelaySettlement): void;
  delivered?(settlement: DeliverySettlement): void;
  /** Called when an endpoint is disabled, by a request or because of its answers. */
  disabled?(reason: DisabledReason): void;
  /** Called with the number of messages that the retention has removed. */
  expired?(messages: number): void;
  /** Called when an inbox was deleted because its time was over. */
  inboxExpired?(): void;
  /** Called with the number of messages that were removed on request, or with a thread in the trash. */
  removed?(messages: number): void;
}

/** The background work of the service. */
export interface Workers {
  /** Wakes the workers of a kind, in this process and in the others. A wake-up may be lost. */
  nudge(kind: OutboxKind): void;
  /** Resolves once this process has recorded an attempt at each destination of a message, or at the timeout. */
  settled(messageId: string, timeoutMs: number, destinations?: number): Promise<void>;
  /** Stops claiming and waits for the rows in hand. Those that have not ended after `graceMs` are cut off, and due again at once. */
  stop(graceMs: number): Promise<void>;
}

/** The interval at which the workers look for work without a wake-up, so that a lost one does no harm. */
const tickMs = 1000;
const pruneMs = 60_000;

export async function startWorkers(deps: WorkerDeps): Promise<Workers> {
  const [claimer = 0] = new Int32Array(Uint8Array.from(deps.randomBytes(4)).buffer);
  const isAlone = deps.db.engine === "embedded";
  const context = { db: deps.db.work, now: deps.now, random: deps.random, log: deps.log, claimer, isAlone };
  const { observe = {} } = deps;
  const wrap: WrapJob = observe.wrap ?? ((job) => job);
  const relayJob = relayEmailJob(deps, (lanes) => relay.recover(lanes));
  const relay: OutboxWorker = outboxWorker(context, wrap({ ...relayJob, settled: observe.relayed }));
  const webhookJob = deliverWebhookJob({ ...deps, disabled: observe.disabled });
  const webhook = outboxWorker(context, wrap({ ...webhookJob, settled: observe.delivered }));
  const parse = outboxWorker(context, wrap(parseMailJob(deps)));
  const workers: Record<OutboxKind, OutboxWorker> = { relay, webhook, parse };
  const others = await notifier(deps, (kind) => workers[kind].wake());

  let stopping = false;
  let pruning: Promise<unknown> = Promise.resolve();
  const isStopping = () => stopping;
  const expireMessages = messageExpirer({ ...deps, expired: observe.expired });
  const emptyTrash = trashEmptier(deps);
  const keepPartitions = partitionKeeper(deps);
  const pruneTimer = setInterval(() => {
    pruning = pruning
      .then(() => keepPartitions(isStopping))
      .then(() => prune(deps, isStopping))
      .then(() => expireMessages(isStopping))
      .then(() => emptyTrash(isStopping))
      .then(() => emptyRemovedThreads(deps, (messages) => observe.removed?.(messages), isStopping))
      .catch((err: unknown) => deps.log.warn({ err }, "cannot prune"));
  }, pruneMs);
  const expiry = startInboxExpiry({ ...deps, inboxExpired: observe.inboxExpired });
  // The first tick comes only after a second, so that a starting service first opens its doors.
  const timer = setInterval(() => {
    for (const worker of Object.values(workers)) worker.tick();
  }, tickMs);

  return {
    nudge(kind) {
      workers[kind].wake();
      others.notify(kind);
    },
    async settled(messageId, timeoutMs, destinations = 1) {
      const subjectIds = Array.from({ length: destinations }, (_, number) => subjectOfDestination(messageId, number));
      await Promise.all(subjectIds.map((subjectId) => relay.settled(subjectId, timeoutMs)));
    },
    async stop(graceMs) {
      stopping = true;
      clearInterval(timer);
      clearInterval(pruneTimer);
      await Promise.all([
        pruning,
        expiry.stop(),
        others.close(),
        ...Object.values(workers).map((worker) => worker.stop(graceMs)),
      ]);
    },
  };
}
