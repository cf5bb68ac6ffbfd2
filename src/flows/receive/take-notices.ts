import { mayBeEarly, type Notice, namesMail, noticeKey } from "../../domain/reports/notice.ts";
import type { RecipientReport } from "../../domain/reports/report.ts";
import type { ReportedMessage } from "../../domain/reports/reported-message.ts";
import type { NoticeEvent, ReadNotices } from "../../mail/notices/read-notices.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import { parseSendAddress } from "../../standards/address.ts";
import type { NoticedMessage } from "../../store/send/message-names.ts";
import type { Deps } from "../deps.ts";
import type { ApplyReports } from "./apply-reports.ts";
import { keepWireNames, messagesByNames, type NoticedMessagesDeps } from "./match-notices.ts";
import { laterNotice } from "./sns-proof.ts";

/**
 * The outcome of a notice: accepted, ignored (not about the delivery, as an open), unknown (about no message of ours), early (the message
 * may still become known, so the relay has to send the notice again), refused (not proven).
 */
export type NoticeObserver = (outcome: NoticeOutcome, count: number) => void;
export const noticeOutcomes = ["accepted", "ignored", "unknown", "early", "refused"] as const;
export type NoticeOutcome = (typeof noticeOutcomes)[number];

export type TakeNotices = (read: ReadNotices) => Promise<{ accepted: number; ignored: number }>;

export interface TakeNoticesDeps extends NoticedMessagesDeps, Pick<Deps, "now"> {
  applyReports: ApplyReports;
  observe: NoticeObserver;
}

/**
 * The most notices without a message that are remembered. Each is remembered with the time when it first came, because it may have come
 * before its message was stored.
 */
const mostRemembered = 10_000;

/** Applies notices that are proven to come from the relay. */
export function noticeTaker(deps: TakeNoticesDeps): TakeNotices {
  const firstCame = boundedMemory<string, Date>(mostRemembered);

  function isEarly(notice: Notice, now: Date): boolean {
    const key = noticeKey(notice);
    const firstCameAt = firstCame.get(key) ?? now;
    if (firstCameAt === now) firstCame.set(key, now);
    return namesMail(notice) && mayBeEarly(notice, firstCameAt, now);
  }

  return async ({ events, others }) => {
    const now = deps.now();
    const all = events.flatMap(({ notices }) => notices);
    const messageOf = await messagesByNames(deps, all);
    await keepWireNames(deps, messageOf);
    const reports = events.flatMap((event) => reportsOf(event, messageOf));
    const outcomes = await deps.applyReports(reports);

    const early = all.filter((notice) => !messageOf.has(notice) && isEarly(notice, now)).length;
    const applied = reports.filter((_, index) => outcomes[index] === "applied");
    const accepted = applied.reduce((count, { recipients }) => count + recipients.length, 0);
    deps.observe("accepted", accepted);
    deps.observe("ignored", others);
    deps.observe("early", early);
    deps.observe("unknown", all.length - accepted - early);
    if (early > 0) throw laterNotice("a message that it names is not known yet");
    return { accepted, ignored: others + all.length - accepted };
  };
}

/**
 * The reports in one event of the relay: one for each message, and another one for its unsubscriptions. Recipients that the message did not
 * go to are left out.
 */
function reportsOf({ notices, raw }: NoticeEvent, messageOf: ReadonlyMap<Notice, NoticedMessage>): ReportedMessage[] {
  const ours = notices.flatMap((notice) => {
    const message = messageOf.get(notice);
    const report = message && recipientReport(notice, message);
    return report === undefined ? [] : [{ notice, messageId: message?.id ?? "", report }];
  });
  const groups = Map.groupBy(ours, ({ notice, messageId }) => `${messageId} ${notice.kind === "unsubscribed"}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { messageId, notice } = first;
    return {
      messageId,
      ofInboxes: undefined,
      source: "relay" as const,
      proof: "relay" as const,
      recipients: group.map(({ report }) => report),
      isOptOut: notice.kind === "unsubscribed",
      reportingMta: notice.reportingMta,
      raw: new TextEncoder().encode(raw),
    };
  });
}

/** The report of a notice about one recipient. Undefined if the message was not sent to that recipient. */
function recipientReport(notice: Notice, { recipients }: NoticedMessage): RecipientReport | undefined {
  const { kind, type, code, enhancedCode, diagnostic, remoteMta, isNamedByHeader } = notice;
  const named = isNamedByHeader && recipients.length > 1 ? undefined : notice.recipient;
  const recipient = named === undefined ? undefined : addressAmong(recipients, named);
  if (named !== undefined && recipient === undefined) return undefined;
  return {
    kind: kind === "unsubscribed" ? undefined : kind,
    type,
    originalRecipient: recipient,
    finalRecipient: undefined,
    code,
    enhancedCode,
    diagnostic,
    remoteMta,
  };
}

function addressAmong(recipients: readonly string[], named: string): string | undefined {
  const address = (parseSendAddress(named) ?? named).toLowerCase();
  return recipients.find((recipient) => recipient.toLowerCase() === address);
}
