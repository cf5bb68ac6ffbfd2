import { type Caller, reachesAll } from "../../domain/access/access.ts";
import { arrivalEventId } from "../../domain/conversation.ts";
import { notFound } from "../../domain/errors.ts";
import { type History, historyOf, mostEntries } from "../../domain/history.ts";
import { isId } from "../../domain/ids.ts";
import {
  findHistoryDraft,
  findHistoryMessage,
  listDeliveriesOfEvents,
  listEventsOfMessage,
  listMarksOfThread,
  listTriedRecipients,
} from "../../store/mail/history.ts";
import { listReports } from "../../store/send/reports.ts";
import type { Deps } from "../deps.ts";

/**
 * The history of a message. Webhook endpoints and the names of keys belong to the account: a caller who may list neither gets no deliveries,
 * and marks without a name.
 */
export async function messageHistory({ db }: Pick<Deps, "db">, caller: Caller, id: string): Promise<History> {
  if (!isId("msg", id)) throw notFound("message");
  const { accountId } = caller.reach;
  // In this order, because the draft may be sent meanwhile.
  const draft = await findHistoryDraft(db.api, caller.reach, id);
  const message = await findHistoryMessage(db.api, caller.reach, id);
  if (message === undefined && draft === undefined) throw notFound("message");
  const inbound = message?.direction === "inbound" ? message : undefined;
  const seesAll = reachesAll(caller);
  const [reports, marks] = await Promise.all([
    inbound === undefined ? listReports(db.api, id) : [],
    inbound === undefined
      ? []
      : listMarksOfThread(db.api, { ...inbound, since: inbound.createdAt, limit: mostEntries }),
  ]);
  // In this order: a report is written with its event, and an attempt with the event of its outcome. So none is shown without the other.
  const events = await listEventsOfMessage(db.api, id, inbound && arrivalEventId(id, inbound.createdAt));
  const eventIds = seesAll ? events.map((event) => event.id) : [];
  const [recipients, deliveries] = await Promise.all([
    inbound === undefined ? listTriedRecipients(db.api, id) : [],
    eventIds.length === 0 ? [] : listDeliveriesOfEvents(db.api, { accountId, eventIds, limit: mostEntries }),
  ]);
  const shownMarks = seesAll ? marks : marks.map((mark) => ({ ...mark, by: null }));
  return historyOf({ message, draft, recipients, events, reports, deliveries, marks: shownMarks });
}
