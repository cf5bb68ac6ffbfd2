import { Type } from "@sinclair/typebox";
import { externalIdWithin, keyInReach, type Reach, refuseToGiveAway } from "../../../domain/access/access.ts";
import { notFound } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { changeInbox } from "../../../flows/account/change-inbox.ts";
import { createInbox } from "../../../flows/account/create-inbox.ts";
import { deleteInbox } from "../../../flows/account/delete-inbox.ts";
import type { Deps } from "../../../flows/deps.ts";
import { asciiDomain, inboxAddress, usernameAt } from "../../../standards/address.ts";
import { countInboxes, findInbox, type Inbox, listInboxes } from "../../../store/account/inboxes.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nothing, nullable, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { idempotencyKeyOf } from "../../shell/request-headers.ts";
import { sendPolicyChange, sendPolicyShown } from "./send-policy.ts";

const InboxShape = named(
  "Inbox",
  Type.Object(
    {
      id: Type.String({ description: "Id of the inbox", examples: [examples.inboxId] }),
      address: Type.String({ description: "Its email address", examples: [examples.address] }),
      externalId: nullable(Type.String({ examples: [examples.externalId] }), {
        description: "Your own id for its owner, if you gave one",
      }),
      createdAt: instant({ description: "When it was created", examples: [examples.inboxCreatedAt] }),
      unreadThreads: Type.Integer({ description: "The number of its unread threads", examples: [1] }),
      lastMessageAt: nullable(instant({ examples: [examples.receivedAt] }), {
        description: "When its last message was received or accepted for sending; null if it has none",
      }),
      retentionDays: nullable(Type.Integer({ minimum: 1, maximum: 3650, examples: [90] }), {
        description: "Days after which its mail is removed; null: those of the account",
      }),
      sendPolicy: sendPolicyShown("the inbox"),
    },
    { description: "An inbox: an email address that sends and receives" },
  ),
);

const externalId = { min: 1, max: 255, examples: [examples.externalId] };

const NewInbox = named(
  "NewInbox",
  Type.Object(
    {
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          text({
            ...externalId,
            description: "Your own id for its owner, repeated in events as `external_id`; need not be unique",
          }),
        ),
      ),
      username: Type.Optional(
        text({
          max: 255,
          description:
            "The part of the address before the @: 3 to 30 of a-z, 0-9, dot and hyphen; at an own domain 1 to 64, also with underscores",
          examples: ["ada"],
        }),
      ),
      domain: Type.Optional(
        text({
          max: 255,
          description:
            "The domain of the address: a verified domain of the account, or a shared one (default: the `mailDomain` of the account)",
          examples: [examples.domain],
        }),
      ),
      mailboxName: Type.Optional(
        text({ max: 255, description: "Another name for `username`: give one of them", examples: ["ada"] }),
      ),
    },
    {
      description: "The new inbox. All fields are optional",
      examples: [{ username: "ada", externalId: examples.externalId }],
    },
  ),
);

/** The field of a change that sets how long mail is kept. */
export const retentionDays = Type.Optional(
  nullable(Type.Integer({ minimum: 1, maximum: 3650 }), {
    description:
      "Days after which mail is removed for good, with its attachments, events and empty threads; null: no limit of its own. The fewest days of inbox, account and service count",
    error: "must be null or a whole number from 1 to 3650",
    examples: [90],
  }),
);

const InboxChange = named(
  "InboxChange",
  Type.Object(
    {
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          nullable(text(externalId), {
            description: "Your own id for its owner; null for none. Earlier events of the inbox show it too",
            error: "must be null or a string of 1 to 255 characters",
            examples: [examples.externalId],
          }),
        ),
      ),
      retentionDays: alsoNamed("retention_days", retentionDays),
      sendPolicy: sendPolicyChange("the inbox"),
    },
    { description: "The changes. Missing fields stay as they are", examples: [{ retentionDays: 90 }] },
  ),
);

const InboxPage = named(
  "InboxPage",
  Type.Object(
    {
      data: Type.Array(InboxShape, { description: "Inboxes, newest first" }),
      total: totalCount("How many inboxes there are in all"),
    },
    { description: "A page of inboxes, and how many there are in all" },
  ),
);

const InboxQuery = Type.Object({
  ...pageQuery(),
  externalId: alsoNamed(
    "external_id",
    Type.Optional(text({ ...externalId, description: "Only inboxes with this `externalId`" })),
  ),
  address: Type.Optional(
    text({
      min: 1,
      max: 320,
      description:
        "Only the inbox with this address. At the `mailDomain` of the account, the part before the @ is enough",
      examples: [examples.address],
    }),
  ),
  domain: Type.Optional(
    text({ min: 1, max: 255, description: "Only inboxes with addresses at this domain", examples: [examples.domain] }),
  ),
});

/** The username of the inbox with this address, or "" for none. The local part alone is one at MAIL_DOMAIN. */
function usernameNamed(address: string, mailDomain: string): string {
  return address.includes("@") ? (usernameAt(address, mailDomain) ?? "") : address.toLowerCase();
}

/** The host of a domain in a query; null for MAIL_DOMAIN. A name that is no domain matches no inbox. */
function hostNamed(domain: string, mailDomain: string): string | null {
  const host = asciiDomain(domain) ?? "";
  return host === mailDomain.toLowerCase() ? null : host;
}

export const inboxPath = idPath("inbox");

/** The inbox of that id. Throws `not_found` also for an inbox beyond the reach. */
export async function ownedInbox(deps: Deps, reach: Reach, id: string): Promise<Inbox> {
  const inbox = isId("inb", id) ? await findInbox(deps.db.api, reach, id) : undefined;
  if (inbox === undefined) throw notFound("inbox");
  return inbox;
}

export function inboxes(deps: Deps) {
  const { mailDomain } = deps;
  return api("/v1/inboxes", "Inboxes")
    .post(
      "",
      async ({ account, actor, body, request, set }) => {
        const { inbox, replayed } = await createInbox(deps, {
          account,
          actor,
          externalId: externalIdWithin(account, body.externalId),
          username: body.username ?? body.mailboxName,
          domain: body.domain,
          usernameField: body.username === undefined ? "mailboxName" : "username",
          idempotencyKey: keyInReach(account.reach, idempotencyKeyOf(request)),
        });
        set.status = 201;
        set.headers.location = `/v1/inboxes/${inbox.id}`;
        if (replayed) set.headers["idempotent-replayed"] = "true";
        return toInbox(inbox, mailDomain);
      },
      operation({
        summary: "Create inbox",
        access: "agent",
        description:
          "Creates an address that receives mail at once. Without `username` a random one is chosen. Names become lower case. The name of a deleted inbox is reserved for 30 days, but not at an own domain.",
        idempotencyKey: "optional",
        body: NewInbox,
        bodyMayBeEmpty: true,
        answers: { 201: InboxShape },
        answerHeaders: {
          201: {
            Location: "Path of the inbox",
            "Idempotent-Replayed": "`true` when an earlier request with this key made it",
          },
        },
        refuses: [
          // A replay gets `not_found` if the inbox of the first request was deleted since.
          "not_found",
          "invalid_username",
          "invalid_idempotency_key",
          "address_taken",
          "address_reserved",
          "idempotency_in_progress",
          "idempotency_key_reused",
          "domain_not_verified",
          "quota_exceeded",
          "inbox_creation_limit",
        ],
      }),
    )
    .get(
      "",
      async ({ account, query }) => {
        const { externalId, limit, offset } = query;
        const username = query.address === undefined ? undefined : usernameNamed(query.address, mailDomain);
        const host = query.domain === undefined ? undefined : hostNamed(query.domain, mailDomain);
        const page = { reach: account.reach, externalId, username, host, limit, offset };
        const [data, total] = await Promise.all([listInboxes(deps.db.api, page), countInboxes(deps.db.api, page)]);
        return { data: data.map((inbox) => toInbox(inbox, mailDomain)), total };
      },
      operation({
        summary: "List inboxes",
        access: "read or send",
        description: "Newest first.",
        query: InboxQuery,
        answers: { 200: InboxPage },
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => toInbox(await ownedInbox(deps, account.reach, params.id), mailDomain),
      operation({
        summary: "Get inbox",
        access: "read or send",
        description: "One inbox of the account.",
        path: inboxPath,
        whenRefused: whetherThere((reach, id) => ownedInbox(deps, reach, id)),
        answers: { 200: InboxShape },
      }),
    )
    .patch(
      "/:id",
      async ({ account, actor, params, body }) => {
        const inbox = await ownedInbox(deps, account.reach, params.id);
        if (body.externalId !== undefined) refuseToGiveAway(account, body.externalId);
        const isChanged = Object.values(body).some((value) => value !== undefined);
        const changed = isChanged ? await changeInbox(deps, { ...account.reach, actor }, inbox.id, body) : inbox;
        return toInbox(changed, mailDomain);
      },
      operation({
        summary: "Change inbox",
        access: "full",
        description:
          "Gives the inbox another `externalId`, for example because another tenant takes it over, or sets how long its mail is kept, or to whom it may send.",
        path: inboxPath,
        whenRefused: whetherThere((reach, id) => ownedInbox(deps, reach, id)),
        body: InboxChange,
        answers: { 200: InboxShape },
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        if (!isId("inb", params.id)) throw notFound("inbox");
        await deleteInbox(deps, { ...account.reach, actor }, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete inbox",
        access: "full",
        description:
          "From now on its mail is refused and its messages cannot be read. Nobody else can get the address for 30 days.",
        path: inboxPath,
        whenRefused: whetherThere((reach, id) => ownedInbox(deps, reach, id)),
        answers: { 204: nothing("Deleted") },
      }),
    );
}

function toInbox(inbox: Inbox, mailDomain: string) {
  const { id, username, externalId, createdAt, unreadCount, lastMessageAt, retentionDays, sendPolicy } = inbox;
  return {
    id,
    address: inboxAddress(username, mailDomain),
    externalId,
    createdAt: createdAt.toISOString(),
    unreadThreads: unreadCount,
    lastMessageAt: lastMessageAt?.toISOString() ?? null,
    retentionDays,
    sendPolicy,
  };
}
