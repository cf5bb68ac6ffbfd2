import { type Static, Type } from "@sinclair/typebox";
import { type Fault, notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { suppressedForm, suppressionReasons } from "../../domain/send/suppressed.ts";
import type { Deps } from "../../flows/deps.ts";
import {
  type AskedSuppression,
  addSuppression,
  addSuppressions,
  deleteSuppression,
  ownedSuppression,
  pageSuppressions,
} from "../../flows/send/manage-suppressions.ts";
import { parseSendAddress } from "../../standards/address.ts";
import { parseInstant, yearsOfInstants } from "../../standards/instant.ts";
import type { Suppression as StoredSuppression } from "../../store/send/suppressions.ts";
import { examples } from "../document/examples.ts";
import { named } from "../document/schema.ts";
import { alsoNamed } from "../judging/also-named.ts";
import { emailAddress } from "../routes/email-address.ts";
import { ownedInbox } from "../routes/inboxes.ts";
import { api } from "../shell/app.ts";
import { whetherThere } from "../shell/described-operation.ts";
import { idPath, instant, nextCursor, nothing, nullable, oneOf, pageQuery, text } from "../shell/models.ts";
import { operation } from "../shell/operation.ts";
import { cursorParameter, cursorPlace, parameter } from "../shell/parameters.ts";

const Suppression = named(
  "Suppression",
  Type.Object(
    {
      id: Type.String({ description: "Id of the suppression", examples: [examples.suppressionId] }),
      address: Type.String({
        description: "In lower case, the domain as A-label",
        examples: [examples.sender],
      }),
      inboxId: nullable(Type.String({ examples: [examples.inboxId] }), {
        description: "The one inbox that does not write to it; null: none of the account does",
        examples: [null],
      }),
      reason: oneOf(suppressionReasons, {
        description:
          "`bounce`: there is no such address; `complaint`: the mail was called spam; `unsubscribe`: its reader wants no more; `manual`: you said so",
        examples: ["bounce"],
      }),
      detail: nullable(Type.String({ examples: ["550 5.1.1 User unknown"] }), { description: "What is known of it" }),
      messageId: nullable(Type.String({ examples: [examples.answerId] }), {
        description: "The message that it came of; null where it came of none",
      }),
      createdAt: instant({ description: "Since when" }),
      expiresAt: nullable(instant({ examples: [examples.suppressedUntil] }), {
        description: "Until when; null: it has no end",
      }),
    },
    { description: "An address that nothing is sent to" },
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
      existing: Type.Integer({ minimum: 0, description: "How many were there already", examples: [0] }),
    },
    { description: "What came of a list" },
  ),
);

const AddedOrThere = named(
  "AddedOrThere",
  Type.Union([Suppression, AddedSuppressions], {
    description: "The one that is there already, or of a list how many are new",
  }),
);

const instantRule = `must be an RFC 3339 date-time of ${yearsOfInstants}`;

/** So many one request may bring. */
const mostAtOnce = 1000;

const instantText = (more: { description?: string } = {}) =>
  text({ max: 40, examples: [examples.suppressedUntil], error: instantRule, ...more });

const wanted = (mailDomain: string) => ({
  inboxId: alsoNamed(
    "inbox_id",
    Type.Optional(
      nullable(text({ examples: [examples.inboxId] }), {
        description: "The one inbox that shall not write to it. Null: none of the account shall",
        error: "must be a string",
      }),
    ),
  ),
  detail: Type.Optional(
    nullable(text({ max: 500, examples: ["asked us by phone"] }), {
      description: "For you",
      error: "must be a string of at most 500 characters",
    }),
  ),
  expiresAt: alsoNamed(
    "expires_at",
    Type.Optional(
      nullable(instantText(), { description: "Until when; null or left out: it has no end", error: instantRule }),
    ),
  ),
  address: Type.Optional(
    emailAddress(mailDomain, { description: "One bare address: no domains, no patterns", examples: [examples.sender] }),
  ),
});

function newSuppression(mailDomain: string) {
  const { address, ...others } = wanted(mailDomain);
  return named(
    "NewSuppression",
    Type.Object(
      {
        address,
        ...others,
        data: Type.Optional(
          Type.Array(
            Type.Object(
              {
                address: emailAddress(mailDomain, { description: "One bare address", examples: [examples.sender] }),
                ...others,
                reason: Type.Optional(oneOf(suppressionReasons, { description: "`manual` where left out" })),
                createdAt: alsoNamed(
                  "created_at",
                  Type.Optional(instantText({ description: "Since when; left out: now" })),
                ),
              },
              { description: "One of many" },
            ),
            { minItems: 1, maxItems: mostAtOnce, description: "Many at once, in place of the other fields" },
          ),
        ),
      },
      {
        description: "One address, or in `data` up to 1,000",
        examples: [{ address: examples.sender, detail: "asked us by phone" }],
      },
    ),
  );
}

type NewSuppression = Static<ReturnType<typeof newSuppression>>;

const Query = Type.Object({
  address: Type.Optional(
    parameter((given) => parseSendAddress(given) !== undefined, {
      error: "must be one email address",
      description: "Only of this address",
      examples: [examples.sender],
    }),
  ),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only those of this inbox alone", examples: [examples.inboxId] })),
  ),
  reason: Type.Optional(oneOf(suppressionReasons, { description: "Only of this reason" })),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

const path = idPath("suppression");

/** Addresses that nothing is sent to. */
export function suppressions(deps: Deps) {
  return [collection(deps), suppression(deps)];
}

function collection(deps: Deps) {
  return api("/v1/suppressions", "Suppressions")
    .get(
      "",
      async ({ account, query: { address, inbox_id: inboxId, reason, limit, cursor } }) => {
        if (inboxId !== undefined) await ownedInbox(deps, account.id, inboxId);
        const question = ["suppressions", account.id, address, inboxId, reason];
        const place = cursor === undefined ? undefined : cursorPlace(cursor, question, "none", "list suppressions");
        if (place instanceof Refusal) throw place;
        const asked = { accountId: account.id, inboxId, reason, limit, before: place?.id, question };
        const page = await pageSuppressions(deps, { ...asked, address: address && wireAddress(address) });
        return { data: page.data.map(toSuppression), nextCursor: page.nextCursor };
      },
      operation({
        summary: "List suppressions",
        description: "Newest first. What has run out is not among them.",
        query: Query,
        answers: { 200: SuppressionPage },
        refuses: ["not_found"],
      }),
    )
    .post(
      "",
      async ({ account, body, set }) => {
        if (body.data !== undefined) return addSuppressions(deps, account.id, body.data.map(asked));
        const { suppression, isNew } = await addSuppression(deps, account.id, asked(body));
        set.status = isNew ? 201 : 200;
        if (isNew) set.headers.location = `/v1/suppressions/${suppression.id}`;
        return toSuppression(suppression);
      },
      operation({
        summary: "Add suppressions",
        description:
          "Nothing is sent to the address from now on, by the account or by one inbox: sends to it are refused, and what waits for it fails. One that is there already stays as it is (200). `data` takes up to 1,000, all or nothing, each with a `reason`, to move in from elsewhere. The address counts as it is: with its `+tag` and its dots.",
        body: newSuppression(deps.mailDomain),
        alsoWrong: faultsOf(deps),
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
  const whenRefused = whetherThere((accountId, id) => owned(deps, accountId, id));
  return api("/v1/suppressions", "Suppressions")
    .get(
      "/:id",
      async ({ account, params }) => toSuppression(await owned(deps, account.id, params.id)),
      operation({
        summary: "Get suppression",
        description: "One suppression of the account.",
        path,
        whenRefused,
        answers: { 200: Suppression },
      }),
    )
    .delete(
      "/:id",
      async ({ account, params, set }) => {
        if (!isId("sup", params.id)) throw notFound("suppression");
        await deleteSuppression(deps, account.id, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete suppression",
        description:
          "The address may be written to again. It may be one that had complained: that is your word, and it is logged.",
        path,
        whenRefused,
        answers: { 204: nothing("Deleted") },
      }),
    );
}

async function owned(deps: Deps, accountId: string, id: string): Promise<StoredSuppression> {
  if (!isId("sup", id)) throw notFound("suppression");
  return ownedSuppression(deps, accountId, id);
}

/** Faults that lie between the fields of a body, or between them and the clock. */
function faultsOf({ now }: Deps) {
  return (fields: Readonly<Record<string, unknown>>): Fault[] => {
    const { data, ...one } = fields;
    if (data === undefined) {
      const missing = one.address === undefined ? [{ pointer: "#/address", detail: 'is required without "data"' }] : [];
      return [...missing, ...instantFaults(one, "#", now())];
    }
    const beside = Object.keys(one).map((name) => ({ pointer: `#/${name}`, detail: 'must not stand beside "data"' }));
    const items = Array.isArray(data) ? data : [];
    return [...beside, ...items.flatMap((item, place) => instantFaults(item ?? {}, `#/data/${place}`, now()))];
  };
}

function instantFaults({ createdAt, expiresAt }: Record<string, unknown>, at: string, now: Date): Fault[] {
  const faults: Fault[] = [];
  const isInstant = (value: unknown) => typeof value !== "string" || parseInstant(value) !== undefined;
  if (!isInstant(createdAt)) faults.push({ pointer: `${at}/createdAt`, detail: instantRule });
  if (!isInstant(expiresAt)) faults.push({ pointer: `${at}/expiresAt`, detail: instantRule });
  const end = typeof expiresAt === "string" ? parseInstant(expiresAt) : undefined;
  if (end !== undefined && end <= now) faults.push({ pointer: `${at}/expiresAt`, detail: "must be in the future" });
  return faults;
}

type OneOfMany = NonNullable<NewSuppression["data"]>[number];

function asked({
  address,
  inboxId,
  reason = "manual",
  detail,
  createdAt,
  expiresAt,
}: Partial<OneOfMany>): AskedSuppression {
  const instantOf = (given: string | null | undefined) => (given ? parseInstant(given) : undefined);
  return {
    ...{ address: wireAddress(address ?? ""), inboxId: inboxId ?? undefined, reason, detail: detail ?? undefined },
    ...{ createdAt: instantOf(createdAt), expiresAt: instantOf(expiresAt) },
  };
}

/** As suppressions are kept. The schema has seen that it is an address. */
function wireAddress(address: string): string {
  const domain = address.slice(address.lastIndexOf("@") + 1);
  return suppressedForm(parseSendAddress(address, domain) ?? address);
}

function toSuppression({ accountId: _whose, inboxId, createdAt, expiresAt, ...others }: StoredSuppression) {
  const { id, address, reason, detail, messageId } = others;
  return {
    ...{ id, address, inboxId: inboxId === "" ? null : inboxId, reason, detail, messageId },
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}
