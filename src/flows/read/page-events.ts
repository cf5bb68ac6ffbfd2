import type { Db } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { notFound } from "../../domain/errors.ts";
import type { IncludeWord } from "../../domain/events/subscription.ts";
import { isId } from "../../domain/ids.ts";
import { rowsOfPage, shownAttachmentBytes } from "../../domain/page-budget.ts";
import { utf8Length } from "../../standards/text.ts";
import { type EventPage, type ListedEvent, listEvents, listEventsByIds } from "../../store/events/events.ts";
import { listAttachments } from "../../store/mail/attachments.ts";
import { listBodyTexts } from "../../store/mail/bodies.ts";
import { listIncluded } from "../../store/mail/included.ts";
import type { Deps } from "../deps.ts";
import { type EventPayload, eventPayload, type PayloadDeps, type WholeEvent } from "../events/event-payload.ts";
import { unsentMails } from "../events/unsent-mails.ts";

type PageDeps = PayloadDeps & Pick<Deps, "now" | "mailDomain"> & { db: Db };

export interface PayloadPage {
  events: EventPayload[];
  hasMore: boolean;
  /** The event after which the next page begins, also if no event was wanted; null if the log has no more events. */
  last: string | null;
}

/** One event, as the log shows it. */
export async function openEvent(
  deps: PageDeps,
  { reach, id }: { reach: Reach; id: string },
  include: readonly IncludeWord[],
): Promise<EventPayload> {
  const found = isId("evt", id) ? await listEventsByIds(deps.db, [id], reach) : [];
  const [payload] = await listedPayloads(deps, found, include);
  if (payload === undefined) throw notFound("event");
  return payload;
}

/** A page of the log: as many of the requested events as fit into its byte limit, and whether more follow. */
export async function pageEvents(
  deps: PageDeps,
  page: EventPage,
  include: readonly IncludeWord[],
): Promise<PayloadPage> {
  const found = await listEvents(deps.db, { ...page, limit: page.limit + 1 });
  const sizes = found.events.map((event) => eventBytes(event, include));
  const listed = found.events.slice(0, Math.min(page.limit, rowsOfPage(sizes)));
  const isCut = found.events.length > listed.length;
  return {
    events: await listedPayloads(deps, listed, include),
    hasMore: isCut || found.isBounded,
    last: isCut ? (listed.at(-1)?.id ?? null) : found.lookedTo,
  };
}

/** The payloads of listed events, with texts, attachments and other parts that are not in their rows. */
export async function listedPayloads(
  deps: PageDeps,
  listed: readonly ListedEvent[],
  include: readonly IncludeWord[],
): Promise<EventPayload[]> {
  const at = deps.now();
  const whole = await wholeEvents(deps, listed, include);
  const payloads = await Promise.all(whole.map((event) => eventPayload(deps, event, include, at)));
  return payloads.filter((payload) => payload !== undefined);
}

async function wholeEvents(
  { db, mailDomain }: PageDeps,
  listed: readonly ListedEvent[],
  include: readonly IncludeWord[],
): Promise<WholeEvent[]> {
  const idsOf = (chosen: (event: ListedEvent) => boolean) =>
    listed.flatMap((event) => (event.messageId !== null && chosen(event) ? [event.messageId] : []));
  const texts = await listBodyTexts(
    db,
    idsOf(({ longBody }) => longBody !== null),
  );
  const attachments = await listAttachments(
    db,
    idsOf(({ attachmentCount }) => (attachmentCount ?? 0) > 0),
  );
  const unsent = await unsentMails(
    db,
    { mailDomain },
    idsOf(({ isUnsent }) => isUnsent),
  );
  const included = include.length === 0 ? [] : await listIncluded(db, [...new Set(idsOf(() => true))]);
  const textOf = new Map(texts.map(({ id, bodyText }) => [id, bodyText]));
  const attachmentsOf = Map.groupBy(attachments, ({ messageId }) => messageId);
  const includedOf = new Map(included.map((row) => [row.id, row]));
  return listed.map((event) => {
    const id = event.messageId ?? "";
    // A long text is missing if the inbox was deleted after the event was listed.
    const bodyText = event.longBody === null ? event.bodyText : (textOf.get(id) ?? null);
    const ofMessage = { bodyText, attachments: attachmentsOf.get(id) ?? [], included: includedOf.get(id) };
    return { ...event, ...ofMessage, ...unsent.get(id) };
  });
}

/** The most bytes that the bodies and attachments of an event add to a page. */
export function eventBytes(event: ListedEvent, include: readonly IncludeWord[]): number {
  const { longBody, bodyText, htmlBytes, attachmentCount } = event;
  const text = longBody ?? utf8Length(bodyText ?? "");
  const html = htmlBytes ?? 0;
  const files = (attachmentCount ?? 0) * shownAttachmentBytes;
  // The extracted text and HTML may be as long as the bodies.
  return text + files + (include.includes("html") ? html : 0) + (include.includes("extracted") ? text + html : 0);
}
