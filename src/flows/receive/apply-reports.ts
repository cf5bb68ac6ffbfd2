import { DatabaseUnavailable, isLockTimeout, transaction } from "../../database/db.ts";
import type { Chunk } from "../../domain/receive/filed-mails.ts";
import { judgeReports } from "../../domain/reports/judge-reports.ts";
import type { ReportPolicy } from "../../domain/reports/report-policy.ts";
import type {
  ArrivedReport,
  KeptReport,
  ReportedMessage,
  ReportSource,
} from "../../domain/reports/reported-message.ts";
import { chunksOf } from "../../store/mail/sources.ts";
import { insertReports, lockReportedMessages } from "../../store/send/reported-messages.ts";
import type { Deps } from "../deps.ts";
import { groupCommit } from "../group-commit.ts";

export interface ApplyDeps extends Deps {
  reportPolicy: ReportPolicy;
  /** Told of each report that says something new. */
  reported?: ((report: KeptReport) => void) | undefined;
  /** Told of each who wants no more mail of an inbox, and by what he said so. */
  unsubscribed?: ((way: ReportSource) => void) | undefined;
}

/** `gone`: there is no such message any more, or none that the proof holds for. */
export type ReportOutcome = "applied" | "gone";

/**
 * Writes down what is told of messages that we sent: reports, what their messages show, suppressions and events. Whoever tells the
 * same twice changes nothing by it. Resolves when it is on disk, with what came of each in their order.
 */
export type ApplyReports = (told: readonly ReportedMessage[]) => Promise<ReportOutcome[]>;

type Prepared = ArrivedReport & { chunks: readonly Chunk[] };

/** By mail, by the relay's notifications or by the simulator: all of it comes by this one way. */
export function reportApplier(deps: ApplyDeps): ApplyReports {
  const commit = groupCommit<Prepared, ReportOutcome>({
    commit: (reports) => store(deps, reports),
    sizeOf: ({ raw }) => raw.length,
    isHopeless: (error) => error instanceof DatabaseUnavailable && !isLockTimeout(error),
    // What is told of one message at once comes to one report.
    lanesOf: ({ messageId }) => [messageId],
  });
  return (told) => Promise.all(told.map(async (one) => commit(await prepared(deps, one))));
}

async function prepared({ now, newId }: ApplyDeps, told: ReportedMessage): Promise<Prepared> {
  const receivedAt = now();
  const ids = told.recipients.map(() => ({
    report: newId("rep", receivedAt),
    event: newId("evt", receivedAt),
    suppression: newId("sup", receivedAt),
    suppressionEvent: newId("evt", receivedAt),
  }));
  return { ...told, receivedAt, sourceId: newId("src", receivedAt), ids, chunks: await chunksOf(0, told.raw) };
}

/** Behind a lock on the messages, since a decision that another process has outrun would tell the same twice. */
async function store(deps: ApplyDeps, arrived: readonly Prepared[]): Promise<ReportOutcome[]> {
  const ids = [...new Set(arrived.map(({ messageId }) => messageId))];
  const { judged, promised, suppressed } = await transaction(deps.db.mail, async (tx) => {
    const judged = judgeReports(arrived, await lockReportedMessages(tx, ids), deps.reportPolicy);
    const raw = arrived.filter(({ sourceId }) => judged.keptSources.has(sourceId));
    const sources = raw.map(({ sourceId: id, chunks }) => ({ id, chunks }));
    return { judged, ...(await insertReports(tx, judged, sources)) };
  });
  for (const kind of promised) deps.nudge(kind);
  deps.changes.notify(judged.events);
  for (const report of judged.outcomes.flatMap((reports) => reports ?? [])) tell(deps, report);
  for (const { id, accountId, messageId, reason } of judged.suppressions) {
    if (!suppressed.includes(id)) continue;
    deps.log.info({ suppression_id: id, account_id: accountId, reason }, "suppression added");
    const told = arrived.find((report) => report.messageId === messageId);
    if (reason === "unsubscribe" && told !== undefined) deps.unsubscribed?.(told.source);
  }
  return judged.outcomes.map((reports) => (reports === undefined ? "gone" : "applied"));
}

/** Without addresses and words: they are strangers'. */
function tell({ log, reported }: ApplyDeps, report: KeptReport): void {
  const { id, messageId, inboxId, kind, type, code, enhancedCode, source, proof, suppressed } = report;
  reported?.(report);
  log.info(
    {
      ...{ report_id: id, message_id: messageId, inbox_id: inboxId, kind, type, code, enhanced_code: enhancedCode },
      ...{ source, proof, suppressed },
    },
    "report received",
  );
}
