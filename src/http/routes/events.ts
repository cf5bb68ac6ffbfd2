import { Type } from "@sinclair/typebox";
import { cursorAt } from "../../domain/cursor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { messageReceived } from "../../domain/events.ts";
import { isId } from "../../domain/ids.ts";
import type { Deps } from "../../flows/deps.ts";
import { redeliverEvent } from "../../flows/events/redeliver-event.ts";
import { type AttachmentLinks, linkedAttachments } from "../../flows/read/attachment-links.ts";
import { pageEvents } from "../../flows/read/page-events.ts";
import { listAttachments } from "../../store/mail/attachments.ts";
import { listDeliveries } from "../../store/outbox/deliveries.ts";
import { type EventPlace, findEvent, findEventPlace, type ShownEvent } from "../../store/outbox/events.ts";
import { alsoNamed } from "../judging/also-named.ts";
import { api } from "../shell/app.ts";
import { whetherThere } from "../shell/described-operation.ts";
import { instant, nullable, oneOf, pageQuery, text } from "../shell/models.ts";
import { operation } from "../shell/operation.ts";
import { cursorParameter, cursorPosition } from "../shell/parameters.ts";
import { ownedInbox } from "./inboxes.ts";
import { Attachment } from "./message-shape.ts";

export interface EventDeps extends Deps {
  links: Pick<AttachmentLinks, "attachmentUrl">;
}

/** As it goes to receivers, so with their names of fields, but for what belongs to a delivery (contract §10.7). */
const Event = Type.Object({
  event: oneOf(["message.received"], { examples: ["message.received"] }),
  event_id: Type.String({ examples: ["evt_01jpw7z1x2e9a8r5k3m0t6vqhd"] }),
  occurred_at: instant(),
  inbox_id: Type.String({ examples: ["inb_01jpw7z1x2e9a8r5k3m0t6vqhc"] }),
  external_id: nullable(Type.String({ examples: ["user-7"] })),
  thread_id: Type.String({ examples: ["thr_01jpw7z1x2e9a8r5k3m0t6vqhe"] }),
  message: Type.Object({
    id: Type.String({ examples: ["msg_01jpw7z1x2e9a8r5k3m0t6vqhd"] }),
    rfc_message_id: Type.String({ examples: ["<a@b.example>"] }),
    from: Type.String({ examples: ["jane@example.com"] }),
    to: Type.String({ examples: ["ada@inbox.localhost"] }),
    cc: Type.Array(Type.String({ examples: ["joe@example.com"] })),
    subject: Type.String({ examples: ["Hi"] }),
    body_text: Type.String({ examples: ["Where is my order?"] }),
    attachments: Type.Array(Attachment),
    received_at: instant(),
  }),
});

const Delivery = Type.Object({
  attempt: Type.Integer({ examples: [1] }),
  attemptedAt: instant(),
  status: nullable(Type.Integer({ examples: [200] }), { description: "Null when nobody answered" }),
  latencyMs: nullable(Type.Integer({ examples: [42] })),
  error: nullable(Type.String({ examples: ["answered 500"] }), { description: "Null when it was delivered" }),
  response: nullable(Type.String({ examples: ["ok"] }), { description: "At most 4 KiB of the answer" }),
});

const eventPath = { id: { description: "Id of the event", example: "evt_01jpw7z1x2e9a8r5k3m0t6vqhd" } };

/** The log of events, for those who missed a delivery or would rather ask (contract §10.7). */
export function events(deps: EventDeps) {
  const { db } = deps;

  async function ownedEvent(accountId: string, id: string): Promise<string> {
    const event = isId("evt", id) ? await findEvent(db.api, accountId, id) : undefined;
    if (event === undefined) throw notFound("event");
    return event.id;
  }

  async function placeOf(accountId: string, id: string): Promise<EventPlace> {
    const place = isId("evt", id) ? await findEventPlace(db.api, accountId, id) : undefined;
    if (place === undefined) throw notFound("event");
    return place;
  }

  return api("/v1/events", "Events")
    .get(
      "",
      async ({ account, query }) => {
        const inbox = query.inbox_id === undefined ? undefined : await ownedInbox(deps, account.id, query.inbox_id);
        const after = query.after === undefined ? undefined : await placeOf(account.id, query.after);
        const page = { accountId: account.id, inboxId: inbox?.id, after, limit: query.limit };
        const { events, hasMore } = await pageEvents(db.api, page);
        return { data: await toEvents(deps, events), hasMore };
      },
      operation({
        summary: "List events",
        description:
          "In the order in which they were written, none ever appearing before one that you have seen: pass the last `event_id` as `after` to get what is new. Each is shown as a delivery would tell it, with fresh links, but without `delivered_at` and `attempt`: what was tried stands in the list of its deliveries. A page ends early where it is more than about 8 MiB.",
        query: Type.Object({
          after: Type.Optional(
            text({ description: "Id of the last event that you have", examples: ["evt_01jpw7z1x2e9a8r5k3m0t6vqhd"] }),
          ),
          limit: pageQuery().limit,
          inbox_id: alsoNamed(
            "inboxId",
            Type.Optional(
              text({ description: "Only events of this inbox", examples: ["inb_01jpw7z1x2e9a8r5k3m0t6vqhc"] }),
            ),
          ),
        }),
        answers: {
          200: Type.Object(
            { data: Type.Array(Event), hasMore: Type.Boolean({ examples: [false] }) },
            { description: "A page of events, and whether there are more behind it" },
          ),
        },
        refuses: ["not_found"],
      }),
    )
    .get(
      "/:id/deliveries",
      async ({ account, params, query: { limit, cursor } }) => {
        const eventId = await ownedEvent(account.id, params.id);
        const question = ["deliveries", eventId];
        const after = cursor === undefined ? 0 : cursorPosition(cursor, question, "list deliveries");
        if (after instanceof Refusal) throw after;
        const found = await listDeliveries(db.api, { eventId, after, limit: limit + 1 });
        const shown = found.slice(0, limit);
        const last = found.length > limit ? shown.at(-1) : undefined;
        return {
          data: shown.map((row) => ({ ...row, attemptedAt: row.attemptedAt.toISOString() })),
          nextCursor: last === undefined ? null : cursorAt(last.attempt, question),
        };
      },
      operation({
        summary: "List deliveries",
        description: "The attempts to deliver the event, the first first. The last 100 attempts are kept.",
        path: eventPath,
        whenRefused: whetherThere(ownedEvent),
        query: Type.Object({ limit: pageQuery(100).limit, cursor: Type.Optional(cursorParameter()) }),
        answers: {
          200: Type.Object(
            {
              data: Type.Array(Delivery),
              nextCursor: nullable(
                Type.String({
                  description: "For the next page; null at the end",
                  examples: ["MS45NTEuOWYyYzAxYTRlN2I4ZDM2MA"],
                }),
              ),
            },
            { description: "A page of the attempts" },
          ),
        },
      }),
    )
    .post(
      "/:id/redeliver",
      async ({ account, params, set }) => {
        await redeliverEvent(deps, account.id, await ownedEvent(account.id, params.id));
        set.status = 202;
        return { event_id: params.id, status: "queued" as const };
      },
      operation({
        summary: "Redeliver event",
        description:
          "Delivers the event again, soon: with the same `event_id` and the next `attempt`. An account may ask for it 60 times in 60 seconds.",
        path: eventPath,
        whenRefused: whetherThere(ownedEvent),
        answers: {
          202: Type.Object(
            { event_id: Type.String({ examples: ["evt_01jpw7z1x2e9a8r5k3m0t6vqhd"] }), status: oneOf(["queued"]) },
            { description: "It is in line" },
          ),
        },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    );
}

async function toEvents({ db, links, now }: EventDeps, found: readonly ShownEvent[]) {
  const shownAt = now();
  const withAttachments = found.filter(({ attachmentCount }) => attachmentCount > 0);
  const attachments = Map.groupBy(
    await listAttachments(
      db.api,
      withAttachments.map(({ messageId }) => messageId),
    ),
    ({ messageId }) => messageId,
  );
  return Promise.all(
    found.map(async (event) => {
      const message = { ...event, id: event.messageId, createdAt: event.receivedAt };
      const own = attachments.get(event.messageId) ?? [];
      return messageReceived({ ...event, message }, await linkedAttachments(links, event.messageId, own, shownAt));
    }),
  );
}
