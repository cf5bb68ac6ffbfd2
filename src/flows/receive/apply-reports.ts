import { DatabaseUnavailable, isLockTimeout, transaction } from "../../database/db.ts";
import type { Chunk } from "../../domain/receive/filed-mails.ts";
import { judgeReports } from "../../domain/reports/judge-reports.ts";
import type { ReportPolicy } from "../../domain/reports/report-policy.ts";
import type { ArrivedReport, KeptReport, ReportedMessage } from "../../domain/reports/reported-message.ts";
import type { UnsubscribeWay } from "../../domain/reports/unsubscribing.ts";
import { chunksOf } from "../../store/mail/sources.ts";
import { insertReports, lockReportedMessages } from "../../store/send/reports.ts";
import type { Deps } from "../deps.ts";
import { groupCommit } from "../group-commit.ts";

export interface ApplyDeps extends Deps {
  reportPolicy: ReportPolicy;
  /** Called for each report that is stored, because it has something new. */
  reported?: ((report: KeptReport) => void) | undefined;
  /** Observes each new suppression of a recipient who unsubscribed, by the source of the report. */
  unsubscribed?: ((way: UnsubscribeWay) => void) | undefined;
}

/** `gone` if the message is deleted or too old for reports, or if the proof is not valid for its inbox. */
export type ReportOutcome = "applied" | "gone";

/**
 * Stores reports about messages that we sent, and their effects: the delivery state of the messages, suppressions and events. To store the
 * same report a second time changes nothing. Resolves when all is on disk, with the outcome of each report, in order.
 */
export type ApplyReports = (reports: readonly ReportedMessage[]) => Promise<ReportOutcome[]>;

type Prepared = ArrivedReport & { chunks: readonly Chunk[] };

/** Makes the function that applies all reports: those that come by mail, in notices of the relay, and from the simulator. */
export function reportApplier(deps: ApplyDeps): ApplyReports {
  const commit = groupCommit<Prepared, ReportOutcome>({
    commit: (reports) => store(deps, reports),
    sizeOf: ({ raw }) => raw.length,
    isHopeless: (error) => error instanceof DatabaseUnavailable && !isLockTimeout(error),
    // Reports about one message are never in two batches at the same time, because those would wait for each other's locks.
    lanesOf: ({ messageId }) => [messageId],
  });
  return (reports) => Promise.all(reports.map(async (report) => commit(await prepared(deps, report))));
}

async function prepared({ now, newId }: ApplyDeps, report: ReportedMessage): Promise<Prepared> {
  const receivedAt = now();
  const ids = report.recipients.map(() => ({
    report: newId("rep", receivedAt),
    event: newId("evt", receivedAt),
    suppression: newId("sup", receivedAt),
    suppressionEvent: newId("evt", receivedAt),
  }));
  return { ...report, receivedAt, sourceId: newId("src", receivedAt), ids, chunks: await chunksOf(0, report.raw) };
}

/** Judges and writes these reports, with a lock on their messages. Without the lock, two processes could write the same report twice. */
async function store(deps: ApplyDeps, arrived: readonly Prepared[]): Promise<ReportOutcome[]> {
  const ids = [...new Set(arrived.map(({ messageId }) => messageId))];
  const { judged, hasDeliveries, suppressed } = await transaction(deps.db.mail, async (tx) => {
    const judged = judgeReports(arrived, await lockReportedMessages(tx, ids), deps.reportPolicy);
    const raw = arrived.filter(({ sourceId }) => judged.keptSources.has(sourceId));
    const sources = raw.map(({ sourceId: id, chunks }) => ({ id, chunks }));
    return { judged, ...(await insertReports(tx, judged, sources)) };
  });
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify(judged.events);
  for (const report of judged.outcomes.flatMap((reports) => reports ?? [])) logReport(deps, report);
  for (const { id, accountId, messageId, reason } of judged.suppressions) {
    if (!suppressed.includes(id)) continue;
    deps.log.info({ suppression_id: id, account_id: accountId, reason }, "suppression added");
    const report = arrived.find((each) => each.messageId === messageId);
    if (reason === "unsubscribe" && report !== undefined)
      deps.unsubscribed?.(report.source === "relay" ? "relay" : "arf");
  }
  return judged.outcomes.map((reports) => (reports === undefined ? "gone" : "applied"));
}

/** Logs a report without addresses and diagnostics, which strangers wrote. */
function logReport({ log, reported }: ApplyDeps, report: KeptReport): void {
  const { id, messageId, inboxId, kind, type, code, enhancedCode, source, proof, suppressed } = report;
  reported?.(report);
  log.info(
    {
      report_id: id,
      message_id: messageId,
      inbox_id: inboxId,
      kind,
      type,
      code,
      enhanced_code: enhancedCode,
      source,
      proof,
      suppressed,
    },
    "report received",
  );
}
