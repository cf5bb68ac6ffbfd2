import { typeOfRefusal } from "../domain/reports/bounce-type.ts";
import { relayNaming } from "../domain/send/wire-name.ts";
import type { WorkKind } from "../flows/deps.ts";
import type { CheckDeps } from "../flows/domains/check-domain.ts";
import type { AttachmentLinks } from "../flows/read/attachment-links.ts";
import type { ApprovalLinks } from "../flows/send/approval-links.ts";
import type { WebhookClient } from "../webhook/client.ts";
import { startDomainChecks } from "../workers/check-domains.ts";
import { startUsageCounter } from "../workers/count-usage.ts";
import { startDispatch } from "../workers/dispatch.ts";
import { startSearchIndexer } from "../workers/index-search.ts";
import { startLetters } from "../workers/letters.ts";
import { startPacker } from "../workers/pack-sources.ts";
import { startWorkers, type Workers } from "../workers/scheduler.ts";
import { reportSimulator } from "../workers/simulator.ts";
import type { Opening } from "./opening.ts";
import type { Receiving } from "./receiving.ts";
import { mailSigners, openRelay, relayHeadersOf, type SendEmail } from "./sending.ts";

interface WorkedWith {
  receiving: Receiving;
  sender: SendEmail;
  webhooks: WebhookClient;
  links: AttachmentLinks;
  domains: CheckDeps;
  approvalLinks: ApprovalLinks;
}

/** The background work of the service. */
export interface Working extends Omit<Workers, "nudge"> {
  nudge(kind: WorkKind): void;
}

/**
 * Opens the relay, and starts the workers, the search indexer, the dispatch of drafts, the letters, the counter of usage, the checks of
 * domains and the packer.
 */
export async function openWorkers(
  opening: Opening,
  { receiving, sender, webhooks, links, domains, approvalLinks }: WorkedWith,
): Promise<Working> {
  const { config, deps, watch, closed, opened } = opening;
  const door = { ...receiving.door, accept: watch.accept("internal", receiving.door.accept) };
  const simulator = config.outbound.kind === "sandbox" ? reportSimulator({ ...deps, door }) : undefined;
  const relay = openRelay(opening, simulator);
  const letters = { ...deps, hosts: receiving.hosts, approvers: config.approvers, approvalLinks };
  const workers = await startWorkers({
    ...deps,
    relay: watch.relay(relay),
    letters,
    signMail: await mailSigners(config, deps),
    door,
    hosts: receiving.hosts,
    closed,
    spoolDirectory: config.dataDir,
    envelopeFrom: receiving.envelopeFrom,
    askDelivered: config.askDelivered,
    maxQueueHours: config.maxQueueHours,
    relayRetrySeconds: config.relayRetrySeconds,
    naming: relayNaming(config.relayMessageId, config.outbound),
    relayHeaders: relayHeadersOf(config),
    noticesNameRelayId: config.relayNotices !== undefined,
    bounceSuppressionDays: config.bounceSuppressionDays,
    refusalType: (failure) => typeOfRefusal(failure, config.outbound.kind === "direct"),
    receiveUnparsed: receiving.receiveUnparsed,
    webhooks: watch.webhooks(webhooks),
    links,
    webhookTimeoutMs: config.webhookTimeoutMs,
    webhookRetrySeconds: config.webhookRetrySeconds,
    webhookDisableDays: config.webhookDisableDays,
    eventRetentionDays: config.eventRetentionDays,
    auditRetentionDays: config.auditRetentionDays,
    messageRetentionDays: config.messageRetentionDays,
    trashDays: config.trashDays,
    observe: simulator?.observing(watch.workers) ?? watch.workers,
  });
  const dispatch = startDispatch({ ...deps, sendEmail: sender, dispatched: watch.dispatched });
  opened.push(() => workers.stop(0));
  opened.push(dispatch.stop);
  opened.push(startLetters(letters).stop);
  // Mail and events of an account that is open again go out at once.
  closed.onChange(() => {
    workers.nudge("relay");
    workers.nudge("webhook");
  });
  opened.push(startSearchIndexer(deps).stop);
  opened.push(startUsageCounter(deps).stop);
  opened.push(startDomainChecks(domains).stop);
  const { blobs } = deps.db.work;
  if (blobs !== undefined) {
    opened.push(startPacker({ ...deps, blobs, blobsAfterMinutes: config.blobsAfterMinutes }).stop);
  }
  return {
    ...workers,
    // Other processes look for due drafts twice a second, which is soon enough if this one dies.
    nudge: (kind) => (kind === "dispatch" ? dispatch.wake() : workers.nudge(kind)),
    async stop(graceMs) {
      await dispatch.stop();
      await workers.stop(graceMs);
    },
  };
}
