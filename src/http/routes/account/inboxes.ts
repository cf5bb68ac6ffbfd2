import type { Static } from "@sinclair/typebox";
import {
  externalIdWithin,
  keyInReach,
  type Reach,
  refuseToGiveAway,
  refuseWithout,
} from "../../../domain/access/access.ts";
import { cursorAtRow } from "../../../domain/cursor.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { type ApproversDeps, checkedApprovers } from "../../../flows/account/approvers.ts";
import { changeInbox } from "../../../flows/account/change-inbox.ts";
import { createInbox } from "../../../flows/account/create-inbox.ts";
import { deleteInbox } from "../../../flows/account/delete-inbox.ts";
import { addAlias, removeAlias } from "../../../flows/account/manage-aliases.ts";
import type { Deps } from "../../../flows/deps.ts";
import { asciiDomain, usernameAt } from "../../../standards/address.ts";
import { parseInstant } from "../../../standards/instant.ts";
import { countInboxes, findInbox, type Inbox, listInboxes } from "../../../store/account/inboxes.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nothing } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorRow, wrongParameter } from "../../shell/parameters.ts";
import { idempotencyKeyOf } from "../../shell/request-headers.ts";
import { faultsOfInbox, InboxChange, InboxPage, InboxQuery, InboxShape, NewInbox, toInbox } from "./inbox-shapes.ts";

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

export function inboxes(deps: Deps & ApproversDeps) {
  const { mailDomain } = deps;
  return api("/v1/inboxes", "Inboxes")
    .post(
      "",
      async ({ account, actor, body, request, set }) => {
        const { retentionDays, displayName, metadata, disabled, searchWords, ttlSeconds } = body;
        // A key that may not set the policy or the approvers of its inboxes must not choose them for new ones.
        if (body.sendPolicy !== undefined) refuseWithout("full", account, 'set "sendPolicy"');
        if (body.approvers !== undefined) refuseWithout("full", account, 'set "approvers"');
        const approvers = await checkedApprovers(deps, body.approvers);
        const { inbox, replayed } = await createInbox(deps, {
          account,
          actor,
          externalId: externalIdWithin(account, body.externalId),
          username: body.username ?? body.mailboxName,
          domain: body.domain,
          aliases: body.aliases,
          usernameField: body.username === undefined ? "mailboxName" : "username",
          settings: { retentionDays, displayName, metadata, approvers, disabled, searchWords, ...convertedOf(body) },
          ttlSeconds,
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
        alsoWrong: faultsOfInbox(deps),
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
        const { externalId, limit, offset, cursor } = query;
        const question = ["inboxes", externalId, query.address, query.domain];
        const last = cursor === undefined ? undefined : cursorRow(cursor, question, "none", "list inboxes");
        if (last instanceof Refusal) throw last;
        if (last !== undefined && offset > 0)
          throw wrongParameter("offset", "must be left out with `cursor`", "list inboxes");
        const username = query.address === undefined ? undefined : usernameNamed(query.address, mailDomain);
        const host = query.domain === undefined ? undefined : hostNamed(query.domain, mailDomain);
        // One more, to see whether there is a next page.
        const page = { reach: account.reach, externalId, username, host, before: last?.id, limit: limit + 1, offset };
        const [found, total] = await Promise.all([listInboxes(deps.db.api, page), countInboxes(deps.db.api, page)]);
        const data = found.slice(0, limit);
        const next = found.length > limit ? data.at(-1) : undefined;
        return {
          data: data.map((inbox) => toInbox(inbox, mailDomain)),
          total,
          nextCursor: next === undefined ? null : cursorAtRow({ number: "0", id: next.id }, question),
        };
      },
      operation({
        summary: "List inboxes",
        access: "read or send",
        description:
          "Newest first. `cursor` continues after a page and neither skips nor repeats an inbox while others are made or deleted.",
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
        const disabled = body.disabled === null ? false : body.disabled;
        const approvers = await checkedApprovers(deps, body.approvers);
        const change = { ...body, ...convertedOf(body), approvers, disabled };
        const changed = isChanged ? await changeInbox(deps, { ...account.reach, actor }, inbox.id, change) : inbox;
        return toInbox(changed, mailDomain);
      },
      operation({
        summary: "Change inbox",
        access: "full",
        description:
          "A merge patch (RFC 7396): fields that are left out stay, and null clears one. Another `externalId` gives the inbox to another tenant. The address never changes.",
        path: inboxPath,
        whenRefused: whetherThere((reach, id) => ownedInbox(deps, reach, id)),
        body: InboxChange,
        alsoWrong: faultsOfInbox(deps),
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
    )
    .put(
      "/:id/aliases/:username",
      async ({ account, actor, params }) => {
        const { id: inboxId } = await ownedInbox(deps, account.reach, params.id);
        return toInbox(await addAlias(deps, { account, actor, inboxId }, params.username), mailDomain);
      },
      operation({
        summary: "Add alias",
        access: "full",
        description:
          "Gives the inbox another address at the same domain. Mail to it is the inbox's, and `toAddr` has the alias. An alias that the inbox already has changes nothing. At most 20; each counts for the inboxes of a day.",
        path: aliasPath,
        whenRefused: whetherThere((reach, id) => ownedInbox(deps, reach, id)),
        answers: { 200: InboxShape },
        refuses: [
          "invalid_username",
          "address_taken",
          "address_reserved",
          "domain_not_verified",
          "alias_limit",
          "inbox_creation_limit",
        ],
      }),
    )
    .delete(
      "/:id/aliases/:username",
      async ({ account, actor, params, set }) => {
        const { id: inboxId } = await ownedInbox(deps, account.reach, params.id);
        await removeAlias(deps, { account, actor, inboxId }, params.username);
        set.status = 204;
      },
      operation({
        summary: "Remove alias",
        access: "full",
        description:
          "From now on mail to the alias is refused. Only this inbox can have it again for 30 days; at an own domain any can.",
        path: aliasPath,
        whenRefused: whetherThere((reach, id) => ownedInbox(deps, reach, id)),
        answers: { 204: nothing("Removed") },
        refuses: ["invalid_username"],
      }),
    );
}

const aliasPath = {
  ...inboxPath,
  username: { description: "The part of the alias before the @, or all of it", example: "sales" },
};

/** The fields of a request that the store has in another form. A policy of null is `open`. */
function convertedOf({ sendPolicy, expiresAt }: Pick<Static<typeof InboxChange>, "sendPolicy" | "expiresAt">) {
  return {
    sendPolicy: sendPolicy === null ? "open" : sendPolicy,
    expiresAt: typeof expiresAt === "string" ? parseInstant(expiresAt) : expiresAt,
  } as const;
}
