import { mayBeEarly, type Notice, namesMail, noticeKey } from "../../domain/reports/notice.ts";
import type { RecipientTold } from "../../domain/reports/report.ts";
import type { ReportedMessage } from "../../domain/reports/reported-message.ts";
import type { NoticeEvent, ReadNotices } from "../../mail/notices/read-notices.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import { parseSendAddress } from "../../standards/address.ts";
import type { NoticedMessage } from "../../store/send/noticed-messages.ts";
import type { Deps } from "../deps.ts";
import type { ApplyReports } from "./apply-reports.ts";
import { keepWireNames, messagesByNames, type NoticedMessagesDeps } from "./noticed-messages.ts";
import { laterNotice } from "./sns-proof.ts";

/** What came of a notice: accepted, ignored (opens and the like), unknown (of no message of ours), early (asked for again), refused. */
export type NoticeObserver = (outcome: NoticeOutcome, count: number) => void;
export const noticeOutcomes = ["accepted", "ignored", "unknown", "early", "refused"] as const;
export type NoticeOutcome = (typeof noticeOutcomes)[number];

export type TakeNotices = (read: ReadNotices) => Promise<{ accepted: number; ignored: number }>;

export interface TakeNoticesDeps extends NoticedMessagesDeps, Pick<Deps, "now"> {
  applyReports: ApplyReports;
  observe: NoticeObserver;
}

/** As many notices without an instant are remembered that named no message: when each came first says when to give it up. */
const mostRemembered = 10_000;

/** Takes what the relay says, once it is known to be the relay. */
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
    const applied = reports.filter((_, place) => outcomes[place] === "applied");
    const accepted = applied.reduce((count, { recipients }) => count + recipients.length, 0);
    deps.observe("accepted", accepted);
    deps.observe("ignored", others);
    deps.observe("early", early);
    deps.observe("unknown", all.length - accepted - early);
    if (early > 0) throw laterNotice("a message that it names is not known yet");
    return { accepted, ignored: others + all.length - accepted };
  };
}

/** What an event says of each message, of those to whom it went: who else it names is nobody of ours. */
function reportsOf({ notices, raw }: NoticeEvent, messageOf: ReadonlyMap<Notice, NoticedMessage>): ReportedMessage[] {
  const ours = notices.flatMap((notice) => {
    const message = messageOf.get(notice);
    const told = message && toldOf(notice, message);
    return told === undefined ? [] : [{ notice, messageId: message?.id ?? "", told }];
  });
  const groups = Map.groupBy(ours, ({ notice, messageId }) => `${messageId} ${notice.kind === "unsubscribed"}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { messageId, notice } = first;
    return {
      ...{ messageId, ofInboxes: undefined, source: "relay" as const, proof: "relay" as const },
      recipients: group.map(({ told }) => told),
      isOptOut: notice.kind === "unsubscribed",
      reportingMta: notice.reportingMta,
      raw: new TextEncoder().encode(raw),
    };
  });
}

/** Undefined where it is about somebody whom the message didn't go to. */
function toldOf(notice: Notice, { recipients }: NoticedMessage): RecipientTold | undefined {
  const { kind, type, code, enhancedCode, diagnostic, remoteMta, isNamedByHeader } = notice;
  const named = isNamedByHeader && recipients.length > 1 ? undefined : notice.recipient;
  const recipient = named === undefined ? undefined : addressAmong(recipients, named);
  if (named !== undefined && recipient === undefined) return undefined;
  return {
    kind: kind === "unsubscribed" ? undefined : kind,
    ...{ type, originalRecipient: recipient, finalRecipient: undefined, code, enhancedCode, diagnostic, remoteMta },
  };
}

function addressAmong(recipients: readonly string[], named: string): string | undefined {
  const address = (parseSendAddress(named) ?? named).toLowerCase();
  return recipients.find((recipient) => recipient.toLowerCase() === address);
}
