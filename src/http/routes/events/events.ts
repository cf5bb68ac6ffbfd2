import { Type } from "@sinclair/typebox";
import type { Reach } from "../../../domain/access/access.ts";
import { cursorAtRow } from "../../../domain/cursor.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { startName } from "../../../domain/events/log-position.ts";
import { isId } from "../../../domain/ids.ts";
import type { Deps } from "../../../flows/deps.ts";
import { findPosition } from "../../../flows/events/find-position.ts";
import { redeliverEvent } from "../../../flows/events/redeliver-event.ts";
import type { AttachmentLinks } from "../../../flows/read/attachment-links.ts";
import { openEvent, pageEvents } from "../../../flows/read/page-events.ts";
import { findEvent, type LogDirection } from "../../../store/events/events.ts";
import { listDeliveries } from "../../../store/outbox/deliveries.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nextCursor, nullable, oneOf, pageQuery, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow, wrongParameter } from "../../shell/parameters.ts";
import { Event } from "./event-shapes.ts";
import { askedSubscription, includedBy, subscriptionQuery } from "./subscription-query.ts";

export interface EventDeps extends Deps {
  links: Pick<AttachmentLinks, "attachmentUrl">;
}

const Delivery = named(
  "Delivery",
  Type.Object(
    {
      attempt: Type.Integer({ minimum: 1, description: "The number of the attempt", examples: [1] }),
      attemptedAt: instant({ description: "When the attempt was made", examples: ["2026-03-21T10:05:01.000Z"] }),
      status: nullable(Type.Integer({ examples: [200] }), {
        description: "Status of the answer; null if there was none",
      }),
      latencyMs: nullable(Type.Integer({ examples: [42] }), {
        description: "How long it took; null until it is known",
      }),
      error: nullable(Type.String({ examples: ["answered 500"] }), {
        description: "Null if it was delivered",
        examples: [null],
      }),
      response: nullable(Type.String({ examples: ["ok"] }), { description: "At most 4 KiB of the answer" }),
      webhookId: nullable(Type.String({ examples: [examples.webhookId] }), {
        description: "Webhook endpoint that it went to; null if it was a default one that is deleted",
      }),
    },
    { description: "One attempt to deliver an event" },
  ),
);

const DeliveryPage = named(
  "DeliveryPage",
  Type.Object(
    {
      data: Type.Array(Delivery, {
        description: "Attempts by endpoint, the default one first; for each endpoint the oldest first",
      }),
      nextCursor: nextCursor(),
    },
    { description: "A page of the attempts" },
  ),
);

const Redelivery = named(
  "Redelivery",
  Type.Object(
    {
      event_id: Type.String({ description: "Id of the event", examples: [examples.eventId] }),
      status: oneOf(["queued"], { description: "It is delivered soon" }),
    },
    { description: "The queued redelivery" },
  ),
);

const RedeliveryOrder = named(
  "RedeliveryOrder",
  Type.Object(
    {
      webhookId: Type.Optional(
        text({ description: "Webhook endpoint. Without it: the default one", examples: [examples.webhookId] }),
      ),
    },
    { description: "Where to redeliver it" },
  ),
);

const EventPage = named(
  "EventPage",
  Type.Object(
    {
      data: Type.Array(Event, { description: "Events, oldest first; with `order=desc` newest first" }),
      hasMore: Type.Boolean({ description: "Whether there are more after this page", examples: [false] }),
      last: Type.Optional(
        nullable(Type.String({ examples: [examples.eventId] }), {
          description:
            "With `types`, `automated`, `external_id` or several inboxes: the last event that was read, to be passed as `after`, or with `order=desc` as `before`; null if there was none",
        }),
      ),
    },
    { description: "A page of events, and whether there are more after it" },
  ),
);

const EventQuery = Type.Object({
  after: Type.Optional(
    text({ description: "Id of the last event that you have, or `start`", examples: [examples.eventId] }),
  ),
  limit: pageQuery().limit,
  ...subscriptionQuery,
  order: Type.Optional(
    oneOf(["asc", "desc"], {
      description: "`desc`: newest first. Without it: oldest first",
      default: "asc",
      examples: ["desc"],
    }),
  ),
  before: Type.Optional(
    text({
      description: "With `order=desc`: id of the last event that you have. Without it: the newest events",
      examples: [examples.eventId],
    }),
  ),
});

const eventPath = idPath("event");

/** A call with filters reads at most this many events, because most of them may not match. */
const mostRead = 10_000;

/** The log of events, for callers who missed a delivery or prefer to poll (contract §10.7). */
export function events(deps: EventDeps) {
  const { db } = deps;
  const isThere = whetherThere((reach, id) => ownedEvent(deps, reach, id));

  return api("/v1/events", "Events")
    .get(
      "",
      async ({ account, query }) => {
        refuseOtherDirection(query);
        const { include, ...subscription } = await askedSubscription(deps, account, query);
        const from = await askedDirection(deps, account.id, query);
        // Without filters every event matches, so the call reads until the page is full.
        const isNarrowed =
          query.types !== undefined ||
          query.automated !== undefined ||
          subscription.externalIds !== undefined ||
          (subscription.inboxIds?.length ?? 0) > 1;
        const lookAt = isNarrowed ? mostRead : undefined;
        const page = { ...subscription, accountId: account.id, from, limit: query.limit, lookAt };
        const { events, hasMore, last } = await pageEvents({ ...deps, db: db.api }, page, include);
        return { data: events, hasMore, ...(isNarrowed && { last }) };
      },
      operation({
        summary: "List events",
        access: "read",
        description:
          "In the order in which they were written. No event ever appears before one that you have seen: pass the last `event_id` as `after` to get new ones. Each has the fields of a delivery, with newly signed URLs, except `delivered_at` and `attempt`; the list of its deliveries has the attempts. A page ends early at about 8 MiB. With `types`, `automated`, `external_id` or several inboxes one call reads at most 10,000 events: it may return fewer than `limit`, or none, although `hasMore` is true. Pass `last` as `after` to continue. `order=desc` begins with the newest events, and `before` continues it in the same way.",
        query: EventQuery,
        answers: { 200: EventPage },
        refuses: ["not_found"],
      }),
    )
    .get(
      "/:id",
      ({ account, params, query: { include } }) =>
        openEvent({ ...deps, db: db.api }, { reach: account.reach, id: params.id }, includedBy(include)),
      operation({
        summary: "Get event",
        access: "read",
        description:
          "One event as the log shows it, with newly signed URLs. An event is kept for as long as it is in the log; the events of a deleted inbox are gone, except that it was created and deleted.",
        path: eventPath,
        whenRefused: isThere,
        query: Type.Object({ include: subscriptionQuery.include }),
        answers: { 200: Event },
      }),
    )
    .get(
      "/:id/deliveries",
      async ({ account, params, query: { limit, cursor } }) => {
        const eventId = await ownedEvent(deps, account.reach, params.id);
        const question = ["deliveries", eventId];
        const after = cursor === undefined ? undefined : attemptAt(cursor, question);
        const found = await listDeliveries(db.api, { accountId: account.id, eventId, after, limit: limit + 1 });
        const shown = found.slice(0, limit);
        const last = found.length > limit ? shown.at(-1) : undefined;
        return {
          data: shown.map(({ lane: _lane, ...row }) => ({ ...row, attemptedAt: row.attemptedAt.toISOString() })),
          nextCursor:
            last === undefined ? null : cursorAtRow({ number: String(last.attempt), id: last.lane }, question),
        };
      },
      operation({
        summary: "List deliveries",
        access: "account",
        description:
          "The attempts to deliver the event, endpoint by endpoint, the oldest first. The last 100 attempts at each endpoint are kept. Needs a key: a token gets 403, because the list shows what your receivers answered.",
        path: eventPath,
        whenRefused: isThere,
        query: Type.Object({ limit: pageQuery(100).limit, cursor: Type.Optional(cursorParameter()) }),
        answers: { 200: DeliveryPage },
      }),
    )
    .post(
      "/:id/redeliver",
      async ({ account, actor, params, body, set }) => {
        await redeliverEvent(
          deps,
          { accountId: account.id, actor },
          await ownedEvent(deps, account.reach, params.id),
          body.webhookId,
        );
        set.status = 202;
        return { event_id: params.id, status: "queued" as const };
      },
      operation({
        summary: "Redeliver event",
        access: "account",
        description:
          "Delivers the event again soon, with the same `event_id` and the next `attempt`, to the default webhook endpoint or to the one that is named. An account may do this 60 times in 60 seconds.",
        path: eventPath,
        whenRefused: isThere,
        body: RedeliveryOrder,
        bodyMayBeEmpty: true,
        answers: {
          202: Redelivery,
        },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    );
}

interface DirectionWords {
  order?: "asc" | "desc";
  after?: string;
  before?: string;
}

function refuseOtherDirection({ order, after, before }: DirectionWords): void {
  if (order === "desc" && after !== undefined)
    throw wrongParameter("after", 'must not be given with "order" of "desc": use "before"', "list events");
  if (order !== "desc" && before !== undefined)
    throw wrongParameter("before", 'must be given with "order" of "desc"', "list events");
}

async function askedDirection(
  deps: EventDeps,
  accountId: string,
  { order, after, before }: DirectionWords,
): Promise<LogDirection> {
  if (order !== "desc") return { order: "asc", after: await findPosition(deps, accountId, after ?? startName) };
  return { order, before: before === undefined ? undefined : await findPosition(deps, accountId, before) };
}

function attemptAt(cursor: string, question: unknown): { lane: string; attempt: number } {
  const last = cursorRow(cursor, question, "integer", "list deliveries");
  if (last instanceof Refusal) throw last;
  return { lane: last.id, attempt: Number(last.number) };
}

async function ownedEvent({ db }: EventDeps, reach: Reach, id: string): Promise<string> {
  const event = isId("evt", id) ? await findEvent(db.api, reach, id) : undefined;
  if (event === undefined) throw notFound("event");
  return event.id;
}
