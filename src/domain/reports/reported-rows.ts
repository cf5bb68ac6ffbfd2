import type { NewEvent } from "../events/event-types.ts";
import { type Delivery, worstOf } from "./delivery.ts";
import type { ReportKind } from "./report.ts";
import type { AutomaticSuppression } from "./report-policy.ts";
import { type ArrivedReport, deliveryBy, type KeptReport, type KnownMessage } from "./reported-message.ts";

/** The state of a message while reports about it are judged one after the other. It is changed in place. */
export interface MessageState {
  message: KnownMessage;
  /** The kept reports by kind and recipient. */
  reports: Map<string, KeptReport>;
  changed: Set<string>;
  suppressions: AutomaticSuppression[];
  events: ReportEvent[];
}

export type ReportEvent = NewEvent<`message.${ReportKind}` | "suppression.added">;

/** The rows to write for a batch of reports. */
export interface ReportedRows {
  reports: readonly KeptReport[];
  /** The worst report about each message with new reports. */
  messages: readonly { id: string; delivery: Delivery }[];
  /** The worst report about each recipient of these messages, if there is one. */
  recipients: readonly { messageId: string; position: number; delivery: Delivery }[];
  /** The new suppressions, at most one for each account, inbox and address. */
  suppressions: readonly AutomaticSuppression[];
  /** The events to write. The store writes the event of a suppression only if it adds the suppression. */
  events: readonly ReportEvent[];
  /** The ids of new raw reports to keep, and of stored raw reports that are not needed any more. */
  keptSources: ReadonlySet<string>;
  goneSources: readonly string[];
}

export interface JudgedReports extends ReportedRows {
  /** The new reports from each arrived report, in order. Undefined if no message for it was found, or the message is too old. */
  outcomes: readonly (KeptReport[] | undefined)[];
}

export function stateOf(message: KnownMessage): MessageState {
  const reports = new Map(message.reports.map((report) => [`${report.kind} ${report.recipient}`, report]));
  return { message, reports, changed: new Set(), suppressions: [], events: [] };
}

export function rowsOfReports(states: readonly MessageState[], arrived: readonly ArrivedReport[]): ReportedRows {
  const changed = states.filter(({ changed }) => changed.size > 0);
  const inUse = new Set(
    changed.flatMap(({ reports }) => [...reports.values()].flatMap(({ sourceId }) => sourceId ?? [])),
  );
  const before = changed.flatMap(({ message }) => message.reports.flatMap(({ sourceId }) => sourceId ?? []));
  return {
    reports: changed.flatMap(({ reports, changed }) => [...changed].flatMap((key) => reports.get(key) ?? [])),
    messages: changed.flatMap(({ message, reports }) => {
      const delivery = worstDelivery([...reports.values()]);
      return delivery === undefined ? [] : [{ id: message.id, delivery }];
    }),
    recipients: changed.flatMap(deliveriesOfRecipients),
    ...withoutDoubles(states),
    keptSources: new Set(arrived.flatMap(({ sourceId }) => (inUse.has(sourceId) ? [sourceId] : []))),
    goneSources: [...new Set(before)].filter((sourceId) => !inUse.has(sourceId)),
  };
}

function deliveriesOfRecipients({ message, reports }: MessageState) {
  return message.recipients.flatMap(({ position, address }) => {
    const own = [...reports.values()].filter(({ recipient }) => recipient === address);
    const delivery = worstDelivery(own);
    return delivery === undefined ? [] : [{ messageId: message.id, position, delivery }];
  });
}

function worstDelivery(reports: readonly KeptReport[]): Delivery | undefined {
  const worst = worstOf(reports.map((report) => ({ kind: report.kind, type: report.type ?? undefined, report })));
  return worst && deliveryBy(worst.report);
}

/**
 * Keeps one suppression for each account, inbox and address, and only the events of kept suppressions. A suppression by a bounce is
 * replaced by one for another reason, because usually only a bounce has an end.
 */
function withoutDoubles(states: readonly MessageState[]): Pick<ReportedRows, "suppressions" | "events"> {
  const kept = new Map<string, AutomaticSuppression>();
  for (const suppression of states.flatMap(({ suppressions }) => suppressions)) {
    const key = `${suppression.accountId} ${suppression.inboxId} ${suppression.address}`;
    const other = kept.get(key);
    if (other === undefined || (other.reason === "bounce" && suppression.reason !== "bounce"))
      kept.set(key, suppression);
  }
  const ids = new Set([...kept.values()].map(({ id }) => id));
  const events = states.flatMap((state) => state.events);
  return {
    suppressions: [...kept.values()],
    events: events.filter((event) => event.type !== "suppression.added" || ids.has(event.data.suppression.id)),
  };
}
