import { type Caller, reachesAll } from "../../domain/access/access.ts";
import { arrivalEventId } from "../../domain/conversation.ts";
import { notFound } from "../../domain/errors.ts";
import { type History, historyOf, mostEntries } from "../../domain/history.ts";
import { isId } from "../../domain/ids.ts";
import {
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
  const message = isId("msg", id) ? await findHistoryMessage(db.api, caller.reach, id) : undefined;
  if (message === undefined) throw notFound("message");
  const { threadId, direction, createdAt } = message;
  const { accountId } = caller.reach;
  const seesAll = reachesAll(caller);
  const [reports, marks] = await Promise.all([
    direction === "outbound" ? listReports(db.api, id) : [],
    direction === "inbound" ? listMarksOfThread(db.api, { threadId, since: createdAt, limit: mostEntries }) : [],
  ]);
  // In this order: a report is written with its event, and an attempt with the event of its outcome. So none is shown without the other.
  const events = await listEventsOfMessage(db.api, id, arrivalEventId(id, createdAt));
  const eventIds = seesAll ? events.map((event) => event.id) : [];
  const [recipients, deliveries] = await Promise.all([
    direction === "outbound" ? listTriedRecipients(db.api, id) : [],
    eventIds.length === 0 ? [] : listDeliveriesOfEvents(db.api, { accountId, eventIds, limit: mostEntries }),
  ]);
  const shownMarks = seesAll ? marks : marks.map((mark) => ({ ...mark, by: null }));
  return historyOf({ message, recipients, events, reports, deliveries, marks: shownMarks });
}
