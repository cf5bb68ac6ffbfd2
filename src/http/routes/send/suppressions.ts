import { Type } from "@sinclair/typebox";
import type { Reach } from "../../../domain/access/access.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { suppressionReasons } from "../../../domain/send/suppressed.ts";
import type { Deps } from "../../../flows/deps.ts";
import {
  addSuppression,
  addSuppressions,
  deleteSuppression,
  ownedSuppression,
  pageSuppressions,
  type SuppressingDeps,
} from "../../../flows/send/manage-suppressions.ts";
import { parseSendAddress } from "../../../standards/address.ts";
import type { Suppression as StoredSuppression } from "../../../store/send/suppressions.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nextCursor, nothing, nullable, oneOf, pageQuery, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow, parameter } from "../../shell/parameters.ts";
import { ownedInbox } from "../account/inboxes.ts";
import { asked, faultsOfNew, newSuppression, wireAddress } from "./new-suppression.ts";

const Suppression = named(
  "Suppression",
  Type.Object(
    {
      id: Type.String({ description: "Id of the suppression", examples: [examples.suppressionId] }),
      address: Type.String({
        description: "In lower case, with the domain as A-label",
        examples: [examples.sender],
      }),
      inboxId: nullable(Type.String({ examples: [examples.inboxId] }), {
        description: "The inbox that it applies to; null: the whole account",
        examples: [null],
      }),
      reason: oneOf(suppressionReasons, {
        description:
          "`bounce`: no such address; `complaint`: reported as spam; `unsubscribe`: the recipient unsubscribed; `manual`: you added it",
        examples: ["bounce"],
      }),
      detail: nullable(Type.String({ examples: ["550 5.1.1 User unknown"] }), { description: "Details" }),
      messageId: nullable(Type.String({ examples: [examples.answerId] }), {
        description: "The message that caused it; null if none did",
      }),
      createdAt: instant({ description: "When it began" }),
      expiresAt: nullable(instant({ examples: [examples.suppressedUntil] }), {
        description: "When it ends; null: never",
      }),
    },
    { description: "A suppression: an address that gets no mail" },
  ),
);

const SuppressionPage = named(
  "SuppressionPage",
  Type.Object(
    { data: Type.Array(Suppression, { description: "Suppressions, newest first" }), nextCursor: nextCursor() },
    { description: "A page of suppressions" },
  ),
);

const AddedSuppressions = named(
  "AddedSuppressions",
  Type.Object(
    {
      created: Type.Integer({ minimum: 0, description: "How many are new", examples: [2] }),
      existing: Type.Integer({ minimum: 0, description: "How many existed already", examples: [0] }),
    },
    { description: "The result of adding a list" },
  ),
);

const AddedOrThere = named(
  "AddedOrThere",
  Type.Union([Suppression, AddedSuppressions], {
    description: "The existing suppression, or the result of adding a list",
  }),
);

const Query = Type.Object({
  address: Type.Optional(
    parameter((given) => parseSendAddress(given) !== undefined, {
      error: "must be one email address",
      description: "Only suppressions of this address",
      examples: [examples.sender],
    }),
  ),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only suppressions of this inbox", examples: [examples.inboxId] })),
  ),
  reason: Type.Optional(oneOf(suppressionReasons, { description: "Only suppressions with this reason" })),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

const path = idPath("suppression");

/** The suppressions of an account: addresses that get no mail. */
export function suppressions(deps: SuppressingDeps) {
  return [collection(deps), suppression(deps)];
}

function collection(deps: SuppressingDeps) {
  return api("/v1/suppressions", "Suppressions")
    .get(
      "",
      async ({ account, query: { address, inbox_id: inboxId, reason, limit, cursor } }) => {
        if (inboxId !== undefined) await ownedInbox(deps, account.reach, inboxId);
        const question = ["suppressions", account.id, address, inboxId, reason];
        const last = cursor === undefined ? undefined : cursorRow(cursor, question, "none", "list suppressions");
        if (last instanceof Refusal) throw last;
        const asked = { reach: account.reach, inboxId, reason, limit, before: last?.id, question };
        const page = await pageSuppressions(deps, { ...asked, address: address && wireAddress(address) });
        return { data: page.data.map(toSuppression), nextCursor: page.nextCursor };
      },
      operation({
        summary: "List suppressions",
        access: "read",
        description: "Newest first, without expired ones.",
        query: Query,
        answers: { 200: SuppressionPage },
        refuses: ["not_found"],
      }),
    )
    .post(
      "",
      async ({ account, actor, body, set }) => {
        if (body.data !== undefined) return addSuppressions(deps, account, actor, body.data.map(asked));
        const { suppression, isNew } = await addSuppression(deps, account, actor, asked(body));
        set.status = isNew ? 201 : 200;
        if (isNew) set.headers.location = `/v1/suppressions/${suppression.id}`;
        return toSuppression(suppression);
      },
      operation({
        summary: "Add suppressions",
        access: "full",
        description:
          "From now on the account, or one inbox, sends nothing to the address: sends to it are refused, and queued mail fails. An existing suppression stays as it is (200). `data` takes up to 1,000, all or none, each with a `reason`, to import them from elsewhere; an expired bounce is not added. The address is taken literally, with its `+tag` and its dots.",
        body: newSuppression(deps.mailDomain),
        alsoWrong: faultsOfNew(deps),
        answers: {
          201: Suppression,
          200: AddedOrThere,
        },
        answerHeaders: { 201: { Location: "Path of the suppression" } },
        refuses: ["not_found", "suppression_limit_reached"],
      }),
    );
}

function suppression(deps: Deps) {
  const whenRefused = whetherThere((reach, id) => owned(deps, reach, id));
  return api("/v1/suppressions", "Suppressions")
    .get(
      "/:id",
      async ({ account, params }) => toSuppression(await owned(deps, account.reach, params.id)),
      operation({
        summary: "Get suppression",
        access: "read",
        description: "One suppression of the account.",
        path,
        whenRefused,
        answers: { 200: Suppression },
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        if (!isId("sup", params.id)) throw notFound("suppression");
        await deleteSuppression(deps, { ...account.reach, actor }, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete suppression",
        access: "full",
        description: "Mail to the address is allowed again, also after a complaint. This is logged.",
        path,
        whenRefused,
        answers: { 204: nothing("Deleted") },
      }),
    );
}

async function owned(deps: Deps, reach: Reach, id: string): Promise<StoredSuppression> {
  if (!isId("sup", id)) throw notFound("suppression");
  return ownedSuppression(deps, reach, id);
}

function toSuppression(suppression: StoredSuppression) {
  return {
    id: suppression.id,
    address: suppression.address,
    inboxId: suppression.inboxId === "" ? null : suppression.inboxId,
    reason: suppression.reason,
    detail: suppression.detail,
    messageId: suppression.messageId,
    createdAt: suppression.createdAt.toISOString(),
    expiresAt: suppression.expiresAt?.toISOString() ?? null,
  };
}
