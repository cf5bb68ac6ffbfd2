import { Type } from "@sinclair/typebox";
import { notFound, Refusal } from "../../../domain/errors.ts";
import type { Deps } from "../../../flows/deps.ts";
import { cancelMail } from "../../../flows/send/cancel-mail.ts";
import { giveUpItem, ownedItem, pageItems, retryItem } from "../../../flows/send/outbox-items.ts";
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
import { ownedMessage, ownedTotals, type ReadingDeps } from "../mail/messages.ts";

const kinds = ["relay", "webhook"] as const;
const states = ["ready", "running", "waiting"] as const;

const OutboxItem = named(
  "OutboxItem",
  Type.Object(
    {
      id: Type.String({
        description:
          "Of mail that of the message, with `.1`, `.2`, … for its further destinations; of an event its own, with the endpoint's behind a dot where that is not the default one",
        examples: [examples.answerId],
      }),
      kind: oneOf(kinds, { description: "`relay`: mail on its way out; `webhook`: an event for an endpoint" }),
      state: oneOf(states, {
        description:
          "`ready`: in line; `running`: an attempt is in hand; `waiting`: an attempt has failed, and the next is not due",
        examples: ["waiting"],
      }),
      messageId: nullable(Type.String({ examples: [examples.answerId] }), { description: "Of mail: the message" }),
      eventId: nullable(Type.String({ examples: [examples.eventId] }), {
        description: "Of a webhook: the event",
        examples: [null],
      }),
      inboxId: nullable(Type.String({ examples: [examples.inboxId] }), {
        description: "Its inbox; null where it belongs to none",
      }),
      to: Type.Array(Type.String({ examples: [examples.sender] }), {
        description: "Of mail the recipients of this destination who wait for it; of a webhook its address",
      }),
      attempt: Type.Integer({ minimum: 0, description: "How many attempts there were", examples: [1] }),
      createdAt: instant({ description: "Since when it is in the outbox" }),
      dueAt: instant({
        description:
          "Of what waits when its next attempt is due. Else a time that has come, or until when an attempt that nobody hears of any more holds it",
      }),
      lastError: nullable(Type.String({ examples: ["451 4.7.1 Try again later"] }), {
        description: "Why the last attempt failed, in one line; null before the first has",
      }),
    },
    { description: "Something that is still to be done for the account" },
  ),
);

const OutboxQuery = Type.Object({
  kind: Type.Optional(oneOf(kinds, { description: "Only mail, or only events for webhooks" })),
  state: Type.Optional(oneOf(states, { description: "Only what is in this state" })),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only what belongs to this inbox", examples: [examples.inboxId] })),
  ),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

const itemPath = { id: { description: "Id in the outbox", example: examples.answerId } };

/** The outbox of an account: lists its items, retries them and cancels them. */
export function outbox(deps: Deps) {
  const whenRefused = whetherThere((accountId, id) => ownedItem(deps, accountId, id));
  return api("/v1/outbox", "Outbox")
    .get(
      "",
      async ({ account, query: { kind, state, inbox_id: inboxId, limit, cursor } }) => {
        const question = ["outbox", kind, state, inboxId];
        const after = cursor === undefined ? undefined : cursorRow(cursor, question, "instant", "list outbox items");
        if (inboxId !== undefined) await ownedTotals(deps, account.id, inboxId);
        if (after instanceof Refusal) throw after;
        const asked = { accountId: account.id, kind, state, inboxId, after, limit, question };
        const { items, nextCursor: next } = await pageItems(deps, asked);
        return { data: items.map(toItem), nextCursor: next };
      },
      operation({
        summary: "List outbox items",
        description: "What is still to be sent and delivered for the account, the oldest first.",
        query: OutboxQuery,
        answers: {
          200: named(
            "OutboxPage",
            Type.Object(
              {
                data: Type.Array(OutboxItem, { description: "What is to be done, the oldest first" }),
                nextCursor: nextCursor(),
              },
              { description: "A page of the outbox" },
            ),
          ),
        },
        // Answered for an inbox of another account.
        refuses: ["not_found"],
      }),
    )
    .post(
      "/:id/retry",
      async ({ account, params, set }) => {
        const item = await retryItem(deps, account.id, params.id);
        set.status = 202;
        return toItem(item);
      },
      operation({
        summary: "Retry outbox item",
        description:
          "Puts it in line now. Its schedule goes on from there, and when it would be given up stays as it was. What is in line already stays in its place.",
        path: itemPath,
        whenRefused,
        answers: { 202: OutboxItem },
        refuses: ["send_in_progress"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, params, set }) => {
        await giveUpItem(deps, account.id, params.id);
        set.status = 204;
      },
      operation({
        summary: "Cancel outbox item",
        description:
          "Of mail what `POST /v1/messages/{id}/cancel` does: all of the mail, whichever of its destinations this is. An event is not delivered to this endpoint; what was tried stays in the log, and it can be redelivered.",
        path: itemPath,
        whenRefused,
        answers: { 204: nothing("Canceled") },
        refuses: ["send_in_progress", "not_cancelable"],
      }),
    );
}

/** Cancels a message that is still in the outbox. */
export function cancel(deps: ReadingDeps) {
  return api("/v1/messages", "Sending").post(
    "/:id/cancel",
    async ({ account, params }) => {
      await cancelMail(deps, account.id, params.id);
      const shown = await toMessage(deps, account.id, await ownedMessage(deps, account.id, params.id));
      if (shown === undefined) throw notFound("message");
      return shown;
    },
    operation({
      summary: "Cancel message",
      description:
        "Takes a mail back that waits in the outbox: it is `failed` with the reason `canceled`, and `message.failed` tells it. Recipients to whom it was sent stay so. While an attempt is in hand nothing is changed and it is refused: who is told `canceled` is never surprised later, but where `mayHaveBeenSent` says so.",
      path: idPath("message"),
      whenRefused: whetherThere((accountId, id) => ownedMessage(deps, accountId, id)),
      answers: { 200: Message },
      refuses: ["send_in_progress", "not_cancelable"],
    }),
  );
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
