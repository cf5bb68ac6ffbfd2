import type { Db } from "../../database/db.ts";
import { rowsOfPage, shownAttachmentBytes } from "../../domain/page-budget.ts";
import { utf8Length } from "../../standards/text.ts";
import { type EventPage, type ListedEvent, listEvents, type ShownEvent } from "../../store/events/events.ts";
import { listBodyTexts } from "../../store/mail/bodies.ts";

/** A page of the log, whose texts are whole: as many events as it has room for, and whether there are more behind them. */
export async function pageEvents(db: Db, page: EventPage): Promise<{ events: ShownEvent[]; hasMore: boolean }> {
  const found = await listEvents(db, { ...page, limit: page.limit + 1 });
  const listed = found.slice(0, Math.min(page.limit, rowsOfPage(found.map(eventBytes))));
  const long = listed.flatMap(({ messageId, longBody }) => (longBody === null ? [] : [messageId]));
  const textOf = new Map((await listBodyTexts(db, long)).map(({ id, bodyText }) => [id, bodyText]));
  const events = listed.flatMap((event): ShownEvent[] => {
    if (event.longBody === null) return [event];
    const bodyText = textOf.get(event.messageId);
    // Its inbox was deleted while it was read.
    return bodyText === undefined ? [] : [{ ...event, bodyText }];
  });
  return { events, hasMore: found.length > listed.length };
}

function eventBytes(event: ListedEvent): number {
  const textBytes = event.longBody ?? utf8Length(event.bodyText);
  return textBytes + event.attachmentCount * shownAttachmentBytes;
}
