import { Type } from "@sinclair/typebox";
import { type Caller, sentReachOf } from "../../../domain/access/access.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { itemKindsOf, listedKinds } from "../../../domain/outbox-item.ts";
import type { Deps } from "../../../flows/deps.ts";
import { cancelMail, refuseForeignMail } from "../../../flows/send/cancel-mail.ts";
import { giveUpItem, ownedItem, pageItems, retryItem } from "../../../flows/send/outbox-items.ts";
import { type RetryDeps, retryMessage } from "../../../flows/send/retry-message.ts";
import type { ListedItem } from "../../../store/outbox/listed-items.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nextCursor, nothing, nullable, oneOf, pageQuery, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow } from "../../shell/parameters.ts";
import { Message, toMessage } from "../mail/message-shape.ts";
import { messageOrDraft, ownedTotals, type ReadingDeps } from "../mail/messages.ts";
import { limitHeaders, limitsIn, Sent, toSent } from "../send/send.ts";

const states = ["ready", "running", "waiting"] as const;

const OutboxItem = named(
  "OutboxItem",
  Type.Object(
    {
      id: Type.String({
        description:
          "For mail the id of the message, with `.1`, `.2`, … for further destinations; for an event its id, with a dot and the endpoint's id if that is not the default one",
        examples: [examples.answerId],
      }),
      kind: oneOf(listedKinds, { description: "`relay`: outbound mail; `webhook`: an event for an endpoint" }),
      state: oneOf(states, {
        description:
          "`ready`: queued; `running`: an attempt is running; `waiting`: an attempt failed, and the next is not due yet",
        examples: ["waiting"],
      }),
      messageId: nullable(Type.String({ examples: [examples.answerId] }), { description: "For mail: the message" }),
      eventId: nullable(Type.String({ examples: [examples.eventId] }), {
        description: "For a webhook: the event",
        examples: [null],
      }),
      inboxId: nullable(Type.String({ examples: [examples.inboxId] }), {
        description: "Its inbox; null if it has none",
      }),
      to: Type.Array(Type.String({ examples: [examples.sender] }), {
        description: "For mail the pending recipients at this destination; for a webhook its URL",
      }),
      attempt: Type.Integer({ minimum: 0, description: "How many attempts there were", examples: [1] }),
      createdAt: instant({ description: "When it was added to the outbox" }),
      dueAt: instant({
        description:
          "When the next attempt of a waiting item is due. For others a time in the past, or the end of the lease of a running attempt",
      }),
      lastError: nullable(Type.String({ examples: ["451 4.7.1 Try again later"] }), {
        description: "Why the last attempt failed, in one line; null if none has failed",
      }),
    },
    { description: "A mail or an event that is still to be sent" },
  ),
);

const OutboxQuery = Type.Object({
  kind: Type.Optional(oneOf(listedKinds, { description: "Only mail, or only events for webhooks" })),
  state: Type.Optional(oneOf(states, { description: "Only items in this state" })),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only items of this inbox", examples: [examples.inboxId] })),
  ),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

const itemPath = { id: { description: "Id in the outbox", example: examples.answerId } };

/** The outbox of an account: lists its items, retries them and cancels them. */
export function outbox(deps: Deps) {
  const whenRefused = whetherThere((_, id, account) => ownedItem(deps, itemsOf(account), id));
  return api("/v1/outbox", "Outbox")
    .get(
      "",
      async ({ account, query: { kind, state, inbox_id: inboxId, limit, cursor } }) => {
        const { reach, kinds } = itemsOf(account);
        const question = ["outbox", kind, state, inboxId];
        const after = cursor === undefined ? undefined : cursorRow(cursor, question, "instant", "list outbox items");
        if (inboxId !== undefined) await ownedTotals(deps, reach, inboxId);
        if (after instanceof Refusal) throw after;
        const asked = {
          reach,
          kinds: kinds.filter((each) => kind === undefined || each === kind),
          state,
          inboxId,
          after,
          limit,
          question,
        };
        const { items, nextCursor: next } = await pageItems(deps, asked);
        return { data: items.map(toItem), nextCursor: next };
      },
      operation({
        summary: "List outbox items",
        access: "read",
        description:
          "Mail and events that are still to be sent, oldest first. Events only for a key with access `full` that reaches the whole account.",
        query: OutboxQuery,
        answers: {
          200: named(
            "OutboxPage",
            Type.Object(
              {
                data: Type.Array(OutboxItem, { description: "Items, oldest first" }),
                nextCursor: nextCursor(),
              },
              { description: "A page of the outbox" },
            ),
          ),
        },
        // `not_found` for an inbox of another account.
        refuses: ["not_found"],
      }),
    )
    .post(
      "/:id/retry",
      async ({ account, actor, params, set }) => {
        const item = await retryItem(deps, { ...itemsOf(account), actor }, params.id);
        set.status = 202;
        return toItem(item);
      },
      operation({
        summary: "Retry outbox item",
        access: "agent",
        description:
          "Queues it now. Its schedule continues from there, and it is given up at the same time as before. An item that is queued already stays as it is.",
        path: itemPath,
        whenRefused,
        answers: { 202: OutboxItem },
        refuses: ["send_in_progress"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await giveUpItem(deps, { ...itemsOf(account), actor }, params.id);
        set.status = 204;
      },
      operation({
        summary: "Cancel outbox item",
        access: "agent",
        description:
          "For mail the same as `POST /v1/messages/{id}/cancel`: it cancels the whole message, not only this destination. An event is not delivered to this endpoint; its attempts stay in the log, and it can be redelivered.",
        path: itemPath,
        whenRefused,
        answers: { 204: nothing("Canceled") },
        refuses: ["send_in_progress", "not_cancelable"],
      }),
    );
}

const CanceledMessage = named(
  "CanceledMessage",
  Type.Pick(Message, ["id", "status"], { description: "A canceled message, for a key that reads no mail" }),
);

/** Cancels a message that is still in the outbox. */
export function cancel(deps: ReadingDeps) {
  return api("/v1/messages", "Sending").post(
    "/:id/cancel",
    async ({ account, actor, params }) => {
      await cancelMail(deps, { ...sentReachOf(account), actor }, params.id);
      const message = await messageOrDraft(deps, account.reach, params.id);
      if (account.access === "send") return { id: message.id, status: message.status };
      const shown = await toMessage(deps, account.id, message);
      if (shown === undefined) throw notFound("message");
      return shown;
    },
    operation({
      summary: "Cancel message",
      access: "send",
      description:
        "Cancels a message that is in the outbox: it becomes `failed` with the reason `canceled`, and `message.failed` is sent. Recipients that got it stay `sent`. While an attempt is running the request is refused and changes nothing. So a canceled message is never sent later, unless `mayHaveBeenSent` is true. A key with access `send` cancels only mail that it sent itself, or that a token of it sent, and gets the id and the status alone.",
      path: idPath("message"),
      whenRefused: whetherThere((_, id, account) => refuseForeignMail(deps, sentReachOf(account), id)),
      answers: {
        200: named(
          "MessageOrCanceled",
          Type.Union([Message, CanceledMessage], {
            description: "The message; for a key with access `send` its id and status",
          }),
        ),
      },
      refuses: ["send_in_progress", "not_cancelable"],
    }),
  );
}

/** Sends a message again that has failed. */
export function retry(deps: RetryDeps) {
  const limits = limitsIn(deps);
  return api("/v1/messages", "Sending").post(
    "/:id/retry",
    async ({ account, actor, params, set }) => {
      const { message, usage } = await retryMessage(deps, account, { ...sentReachOf(account), actor }, params.id);
      limits.add(set, account, usage);
      return toSent(message);
    },
    operation({
      summary: "Retry message",
      access: "send",
      sends: true,
      description:
        "Sends a message again to the recipients that have failed with the reason `refused` or `timed_out`, with the same bytes: for mail that failed by a fault of the relay or of this service. At most 5 times, and within 30 days. Each recipient counts for the limit of the day. A suppressed recipient is left out: remove it from the suppressions first.",
      path: idPath("message"),
      whenRefused: whetherThere((_, id, account) => refuseForeignMail(deps, sentReachOf(account), id)),
      answers: { 200: Sent },
      answerHeaders: { 200: limitHeaders },
      refuses: [
        "not_retryable",
        "inbox_disabled",
        "sending_disabled",
        "recipient_not_allowed",
        "domain_not_verified",
        "address_taken",
        "recipient_suppressed",
        "daily_limit_exceeded",
      ],
    }),
  );
}

/** The items that a caller may see. */
function itemsOf(caller: Caller) {
  return { reach: caller.reach, kinds: itemKindsOf(caller) };
}

function toItem(item: ListedItem) {
  return {
    id: item.id,
    kind: item.kind,
    state: item.state,
    messageId: item.messageId,
    eventId: item.eventId,
    inboxId: item.inboxId,
    to: item.to,
    attempt: item.attempt,
    createdAt: item.createdAt.toISOString(),
    dueAt: item.dueAt.toISOString(),
    lastError: item.lastError,
  };
}
