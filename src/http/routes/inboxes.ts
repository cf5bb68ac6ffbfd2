import { Type } from "@sinclair/typebox";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import type { Plan } from "../../domain/limits.ts";
import { createInbox } from "../../flows/account/create-inbox.ts";
import { deleteInbox } from "../../flows/account/delete-inbox.ts";
import type { Deps } from "../../flows/deps.ts";
import { countInboxes, findInbox, type Inbox, listInboxes } from "../../store/account/inboxes.ts";
import { alsoNamed } from "../judging/also-named.ts";
import { api } from "../shell/app.ts";
import { whetherThere } from "../shell/described-operation.ts";
import { idempotencyKeyOf } from "../shell/idempotency-key.ts";
import { instant, nothing, nullable, pageQuery, text } from "../shell/models.ts";
import { operation } from "../shell/operation.ts";

const InboxShape = {
  id: Type.String({ examples: ["inb_01jpw7z1x2e9a8r5k3m0t6vqhd"] }),
  address: Type.String({ examples: ["ada@inbox.localhost"] }),
  externalId: nullable(Type.String({ examples: ["user-7"] })),
  createdAt: instant(),
};

export const inboxPath = { id: { description: "Id of the inbox", example: "inb_01jpw7z1x2e9a8r5k3m0t6vqhd" } };

/** The caller's inbox of that id. Another account's answers like one that never was. */
export async function ownedInbox(deps: Deps, accountId: string, id: string): Promise<Inbox> {
  const inbox = isId("inb", id) ? await findInbox(deps.db.api, accountId, id) : undefined;
  if (inbox === undefined) throw notFound("inbox");
  return inbox;
}

export function inboxes(deps: Deps) {
  const toInbox = ({ id, username, externalId, createdAt }: Inbox) => ({
    id,
    address: `${username}@${deps.mailDomain}`,
    externalId,
    createdAt: createdAt.toISOString(),
  });

  return api("/v1/inboxes", "Inboxes")
    .post(
      "",
      async ({ account, body, request, set }) => {
        const { inbox, replayed } = await createInbox(deps, {
          account: { id: account.id, plan: account.plan as Plan },
          externalId: body.externalId,
          username: body.username ?? body.mailboxName,
          usernameField: body.username === undefined ? "mailboxName" : "username",
          idempotencyKey: idempotencyKeyOf(request),
        });
        set.status = 201;
        set.headers.location = `/v1/inboxes/${inbox.id}`;
        if (replayed) set.headers["idempotent-replayed"] = "true";
        return toInbox(inbox);
      },
      operation({
        summary: "Create inbox",
        description:
          "Makes an address that receives at once. Without `username` one is drawn. A name is lower-cased; the name of a deleted inbox is kept for 30 days.",
        idempotencyKey: "optional",
        body: Type.Object({
          externalId: alsoNamed(
            "external_id",
            Type.Optional(
              text({
                min: 1,
                max: 255,
                description: "Your own id of its owner, echoed in events as `external_id`; need not be unique",
                examples: ["user-7"],
              }),
            ),
          ),
          username: Type.Optional(
            text({
              max: 255,
              description: "3 to 30 of a-z, 0-9, dot and hyphen: the address before the @",
              examples: ["ada"],
            }),
          ),
          mailboxName: Type.Optional(text({ max: 255, description: "Another name for `username`", examples: ["ada"] })),
        }),
        bodyMayBeEmpty: true,
        answers: { 201: Type.Object(InboxShape, { description: "The inbox" }) },
        answerHeaders: {
          201: {
            Location: "Path of the inbox",
            "Idempotent-Replayed": "`true` when an earlier request with this key made it",
          },
        },
        refuses: [
          "invalid_username",
          "invalid_idempotency_key",
          "address_taken",
          "address_reserved",
          "idempotency_in_progress",
          "idempotency_key_reused",
          "inbox_creation_limit",
        ],
      }),
    )
    .get(
      "",
      async ({ account, query }) => {
        const page = { accountId: account.id, externalId: query.externalId, limit: query.limit, offset: query.offset };
        const [data, total] = await Promise.all([listInboxes(deps.db.api, page), countInboxes(deps.db.api, page)]);
        return { data: data.map(toInbox), total };
      },
      operation({
        summary: "List inboxes",
        description: "Newest first.",
        query: Type.Object({
          ...pageQuery(),
          externalId: alsoNamed(
            "external_id",
            Type.Optional(text({ min: 1, max: 255, description: "Only inboxes with this `externalId`" })),
          ),
        }),
        answers: {
          200: Type.Object(
            { data: Type.Array(Type.Object(InboxShape)), total: Type.Integer({ examples: [1] }) },
            { description: "A page of inboxes, and how many there are in all" },
          ),
        },
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => toInbox(await ownedInbox(deps, account.id, params.id)),
      operation({
        summary: "Get inbox",
        description: "One inbox of the account.",
        path: inboxPath,
        whenRefused: whetherThere((accountId, id) => ownedInbox(deps, accountId, id)),
        answers: { 200: Type.Object(InboxShape, { description: "The inbox" }) },
      }),
    )
    .delete(
      "/:id",
      async ({ account, params, set }) => {
        if (!isId("inb", params.id)) throw notFound("inbox");
        await deleteInbox(deps, account.id, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete inbox",
        description:
          "Its mail is refused and its messages are out of reach from now on. The address is kept from others for 30 days.",
        path: inboxPath,
        whenRefused: whetherThere((accountId, id) => ownedInbox(deps, accountId, id)),
        answers: { 204: nothing("Deleted") },
      }),
    );
}
