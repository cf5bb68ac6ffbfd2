import { type Static, Type } from "@sinclair/typebox";
import { accesses } from "../../../domain/access/access.ts";
import { type KeySettings, wholeKey } from "../../../domain/access/key.ts";
import { type Fault, notFound, Refusal } from "../../../domain/errors.ts";
import {
  addKey,
  changeKey,
  endKey,
  type MadeKey,
  managerOf,
  ownedKey,
  rotateKey,
} from "../../../flows/account/manage-keys.ts";
import type { Deps } from "../../../flows/deps.ts";
import { parseInstant, yearsOfInstants } from "../../../standards/instant.ts";
import { isAddressBlock } from "../../../standards/ip.ts";
import { type ApiKeyInfo, countApiKeys, listApiKeys } from "../../../store/account/keys.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nothing, nullable, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { ownedInbox } from "./inboxes.ts";

const accessMeanings =
  "`full`: everything; `agent`: read, send, mark, wait and stream; `send`: send, without reading mail; `read`: only read; `ingest`: only hand in received mail";

const keyFields = {
  id: Type.String({ description: "Id of the key", examples: [examples.keyId] }),
  name: nullable(Type.String(), { description: "A label for people; null for none", examples: ["support agent"] }),
  access: oneOf(accesses, { description: `What it may do within its reach. ${accessMeanings}`, examples: ["agent"] }),
  inboxId: nullable(Type.String({ examples: [examples.inboxId] }), {
    description: "The only inbox that it reaches; null: more than one",
    examples: [null],
  }),
  externalId: nullable(Type.String({ examples: [examples.externalId] }), {
    description: "The only `externalId` whose inboxes it reaches, now and later; null: all",
    examples: [examples.externalId],
  }),
  allowedIps: Type.Array(Type.String({ examples: ["192.0.2.0/24"] }), {
    description: "The blocks of addresses from which it may be used; none: any address",
    examples: [[]],
  }),
  prefix: Type.String({ description: "The first 8 characters of the key", examples: ["ibx_00Qh"] }),
  lastFour: Type.String({ description: "Its last 4 characters", examples: ["7fWz"] }),
  createdAt: instant({ description: "When it was created", examples: ["2026-03-20T08:59:00.000Z"] }),
  createdBy: nullable(Type.String({ examples: [examples.keyId] }), {
    description: "Who created it: the id of a key, `cli` or `operator`; null for the key of a first start",
    examples: [null],
  }),
  lastUsedAt: nullable(instant(), {
    description: "When it was last used, to the minute; null: never",
    examples: [null],
  }),
  expiresAt: nullable(instant(), { description: "When it ends; null: never", examples: [null] }),
  revokedAt: nullable(instant(), { description: "When it was revoked; null if it was not", examples: [null] }),
};

const KeyShape = named("Key", Type.Object(keyFields, { description: "An API key, without its secret" }));

const CreatedKey = named(
  "CreatedKey",
  Type.Object(
    {
      ...keyFields,
      key: Type.String({ description: "The key itself, which is shown only here", examples: [examples.apiKey] }),
    },
    { description: "A new key" },
  ),
);

const KeyPage = named(
  "KeyPage",
  Type.Object(
    {
      data: Type.Array(KeyShape, { description: "Keys, newest first" }),
      total: totalCount("How many keys there are in all"),
    },
    { description: "A page of keys, and how many there are in all" },
  ),
);

const label = text({ min: 1, max: 100, examples: ["support agent"] });
const expiry = text({
  max: 40,
  error: `must be an RFC 3339 date-time of ${yearsOfInstants}`,
  examples: ["2026-06-21T00:00:00.000Z"],
});
const mostBlocks = 100;
const allowedIps = alsoNamed(
  "allowed_ips",
  Type.Optional(
    Type.Array(text({ max: 64, examples: ["192.0.2.0/24"] }), {
      maxItems: mostBlocks,
      description: "The blocks of addresses (CIDR) from which it may be used; none: any address",
    }),
  ),
);

const NewKey = named(
  "NewKey",
  Type.Object(
    {
      name: Type.Optional(
        nullable(label, { description: "A label for people", error: "must have 1 to 100 characters" }),
      ),
      access: Type.Optional(
        oneOf(accesses, { description: `What it may do. ${accessMeanings}`, default: "full", examples: ["agent"] }),
      ),
      inboxId: alsoNamed(
        "inbox_id",
        Type.Optional(
          nullable(text({ examples: [examples.inboxId] }), {
            description: "The only inbox that it reaches. Not with access `full`",
            error: "must be a string",
            examples: [null],
          }),
        ),
      ),
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          nullable(text({ min: 1, max: 255, examples: [examples.externalId] }), {
            description: "The only `externalId` whose inboxes it reaches, now and later: those of a tenant",
            error: "must be a string of 1 to 255 characters",
          }),
        ),
      ),
      expiresAt: alsoNamed(
        "expires_at",
        Type.Optional(
          nullable(expiry, { description: "When it ends; null: never", error: "must be an instant", examples: [null] }),
        ),
      ),
      expiresInSeconds: alsoNamed(
        "expires_in_seconds",
        Type.Optional(
          Type.Integer({ minimum: 1, maximum: 315_360_000, description: "Instead of `expiresAt`: how long it lasts" }),
        ),
      ),
      allowedIps,
    },
    {
      description: "The new key. All fields are optional",
      examples: [{ name: "support agent", access: "agent", externalId: examples.externalId }],
    },
  ),
);

const KeyChange = named(
  "KeyChange",
  Type.Object(
    {
      name: Type.Optional(
        nullable(label, { description: "A label for people; null for none", error: "must have 1 to 100 characters" }),
      ),
      allowedIps,
      expiresAt: alsoNamed(
        "expires_at",
        Type.Optional(
          nullable(expiry, { description: "When it ends; null: never", error: "must be an instant", examples: [null] }),
        ),
      ),
    },
    { description: "The changes. Missing fields stay as they are", examples: [{ name: "support agent" }] },
  ),
);

const overlapSeconds = { usual: 86_400, most: 604_800 };

const KeyRotation = named(
  "KeyRotation",
  Type.Object(
    {
      overlapSeconds: alsoNamed(
        "overlap_seconds",
        Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: overlapSeconds.most,
            default: overlapSeconds.usual,
            description: "How long the old key still works",
          }),
        ),
      ),
    },
    { description: "How long both keys work" },
  ),
);

const KeyQuery = Type.Object({
  ...pageQuery(),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only keys that are bound to this inbox", examples: [examples.inboxId] })),
  ),
  external_id: alsoNamed(
    "externalId",
    Type.Optional(
      text({
        min: 1,
        max: 255,
        description: "Only keys that are bound to this `externalId`",
        examples: [examples.externalId],
      }),
    ),
  ),
  revoked: Type.Optional(Type.Boolean({ description: "Only revoked keys (`true`), or only others (`false`)" })),
});

type Fields = Readonly<Record<string, unknown>>;

/** Faults that a schema cannot express. */
function faultsOfKey({
  access = "full",
  inboxId,
  externalId,
  expiresAt,
  expiresInSeconds,
  allowedIps: blocks,
}: Fields): readonly Fault[] {
  const faults: Fault[] = [];
  const isBound = typeof inboxId === "string";
  if (isBound && typeof externalId === "string")
    faults.push({ pointer: "#/externalId", detail: "must be left out with `inboxId`" });
  if (isBound && access === "full")
    faults.push({
      pointer: "#/access",
      detail: "must not be `full` with `inboxId`: a full key manages more than one inbox",
    });
  if (typeof expiresAt === "string" && expiresInSeconds !== undefined)
    faults.push({ pointer: "#/expiresInSeconds", detail: "must be left out with `expiresAt`" });
  return [...faults, ...faultsOfChange({ expiresAt, allowedIps: blocks })];
}

function faultsOfChange({ expiresAt, allowedIps: blocks }: Fields): readonly Fault[] {
  const faults: Fault[] = [];
  if (typeof expiresAt === "string" && parseInstant(expiresAt) === undefined)
    faults.push({ pointer: "#/expiresAt", detail: `must be an RFC 3339 date-time of ${yearsOfInstants}` });
  for (const [index, block] of (Array.isArray(blocks) ? blocks : []).entries())
    if (typeof block === "string" && !isAddressBlock(block))
      faults.push({
        pointer: `#/allowedIps/${index}`,
        detail: "must be an IP address, or a block such as 192.0.2.0/24",
      });
  return faults;
}

/** The keys of an account, with their access and reach. */
export function keys(deps: Deps) {
  const whenRefused = whetherThere((reach, id) => ownedKey(deps.db.api, reach, id));
  return api("/v1/keys", "Keys")
    .post(
      "",
      async ({ account, actor, body, set }) => {
        const by = managerOf(account, actor);
        const made = await addKey(deps, by, body.name ?? undefined, settingsOf(body, deps.now()));
        set.status = 201;
        set.headers.location = `/v1/keys/${made.info.id}`;
        return toCreated(made, set);
      },
      operation({
        summary: "Create key",
        access: "full",
        description:
          "Creates a key with an access, and with a reach: the whole account, one inbox, or the inboxes with one `externalId`. The answer has the key itself, which is shown only here. A key that is bound to an `externalId` creates keys of that `externalId`, or of one of its inboxes.",
        body: NewKey,
        bodyMayBeEmpty: true,
        alsoWrong: faultsOfKey,
        answers: { 201: CreatedKey },
        answerHeaders: { 201: { Location: "Path of the key" } },
        refuses: ["not_found", "quota_exceeded"],
      }),
    )
    .get(
      "",
      async ({ account, query }) => {
        const { limit, offset, inbox_id: inboxId, external_id: externalId, revoked: isRevoked } = query;
        const page = { reach: account.reach, inboxId, externalId, isRevoked, limit, offset };
        const [data, total] = await Promise.all([listApiKeys(deps.db.api, page), countApiKeys(deps.db.api, page)]);
        return { data: data.map(toKey), total };
      },
      operation({
        summary: "List keys",
        access: "full",
        description: "Newest first, with revoked keys.",
        query: KeyQuery,
        answers: { 200: KeyPage },
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => toKey(await ownedKey(deps.db.api, account.reach, params.id)),
      operation({
        summary: "Get key",
        access: "full",
        description: "One key within the reach of the caller.",
        path: idPath("key"),
        whenRefused,
        answers: { 200: KeyShape },
      }),
    )
    .patch(
      "/:id",
      async ({ account, actor, params, body }) => {
        const { name, allowedIps: blocks, expiresAt } = body;
        const ends = expiresAt === undefined || expiresAt === null ? expiresAt : endAt(expiresAt, deps.now());
        const change = { name, allowedIps: blocks, expiresAt: ends };
        return toKey(await changeKey(deps, managerOf(account, actor), params.id, change));
      },
      operation({
        summary: "Change key",
        access: "full",
        description:
          "Changes the name, the addresses or the end of a key. Its access and reach stay: create another key for others. The last key that manages the account cannot be made to end.",
        path: idPath("key"),
        whenRefused,
        body: KeyChange,
        alsoWrong: faultsOfChange,
        answers: { 200: KeyShape },
        refuses: ["last_key"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await endKey(deps, managerOf(account, actor), params.id);
        set.status = 204;
      },
      operation({
        summary: "Revoke key",
        access: "full",
        description:
          "From now on the key is refused, with its tokens and its sessions, and its open streams end. The last key that manages the account cannot be revoked: only by the operator.",
        path: idPath("key"),
        whenRefused,
        answers: { 204: nothing("Revoked") },
        refuses: ["last_key"],
      }),
    )
    .post(
      "/:id/rotate",
      async ({ account, actor, params, body, set }) => {
        const { overlapSeconds: overlap = overlapSeconds.usual } = body;
        const made = await rotateKey(deps, managerOf(account, actor), params.id, overlap);
        set.status = 201;
        set.headers.location = `/v1/keys/${made.info.id}`;
        return toCreated(made, set);
      },
      operation({
        summary: "Rotate key",
        access: "full",
        description:
          "Creates a key with the same name, access, reach, addresses and end. The old key ends after the overlap, so its users can change to the new one in between.",
        path: idPath("key"),
        whenRefused,
        body: KeyRotation,
        bodyMayBeEmpty: true,
        answers: { 201: CreatedKey },
        answerHeaders: { 201: { Location: "Path of the new key" } },
        refuses: ["quota_exceeded"],
      }),
    );
}

function settingsOf(body: Static<typeof NewKey>, now: Date): KeySettings {
  const {
    access = "full",
    inboxId = null,
    externalId = null,
    allowedIps: blocks = [],
    expiresInSeconds: seconds,
  } = body;
  const given = body.expiresAt ?? undefined;
  const inSeconds = seconds === undefined ? null : new Date(now.getTime() + seconds * 1000);
  const expiresAt = given === undefined ? inSeconds : endAt(given, now);
  return { ...wholeKey, access, inboxId, externalId, allowedIps: blocks, expiresAt };
}

function endAt(text: string, now: Date): Date {
  const at = parseInstant(text);
  if (at !== undefined && at > now) return at;
  const faults = [{ pointer: "#/expiresAt", detail: "must be in the future" }];
  throw new Refusal("validation_error", "Cannot create key: `expiresAt` must be in the future", { faults });
}

function toCreated({ info, key }: MadeKey, set: { headers: Record<string, string | number> }) {
  set.headers["cache-control"] = "no-store";
  return { ...toKey(info), key };
}

function toKey(key: ApiKeyInfo) {
  return {
    id: key.id,
    name: key.name,
    access: key.access,
    inboxId: key.inboxId,
    externalId: key.externalId,
    allowedIps: key.allowedIps,
    prefix: key.prefix,
    lastFour: key.lastFour,
    createdAt: key.createdAt.toISOString(),
    createdBy: key.createdBy,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  };
}

const InboxKey = named(
  "InboxKey",
  Type.Object(
    {
      ...keyFields,
      tokenPrefix: Type.String({ description: "The same as `prefix`", examples: ["ibx_00Qh"] }),
      last4: Type.String({ description: "The same as `lastFour`", examples: ["7fWz"] }),
      key: Type.String({ description: "The key itself, which is shown only here", examples: [examples.apiKey] }),
      token: Type.String({ description: "The same as `key`", examples: [examples.apiKey] }),
    },
    { description: "A new key of one inbox, with the names of other services beside ours" },
  ),
);

const NewInboxKey = named(
  "NewInboxKey",
  Type.Object({ name: NewKey.properties.name }, { description: "The new key", examples: [{ name: "support agent" }] }),
);

const inboxKeyPath = { ...idPath("inbox"), key_id: { description: "Id of the key", example: examples.keyId } };

/** The keys of one inbox: other paths to `/v1/keys`, for clients of other services. */
export function inboxKeys(deps: Deps) {
  const whenRefused = whetherThere((reach, id) => ownedInbox(deps, reach, id));
  return api("/v1/inboxes", "Keys")
    .post(
      "/:id/api-keys",
      async ({ account, actor, params, body, set }) => {
        const settings = { ...wholeKey, access: "agent", inboxId: params.id } as const;
        const made = await addKey(deps, managerOf(account, actor), body.name ?? undefined, settings);
        set.status = 201;
        set.headers.location = `/v1/keys/${made.info.id}`;
        const { prefix, lastFour } = made.info;
        const { key, ...shown } = toCreated(made, set);
        return { ...shown, tokenPrefix: prefix, last4: lastFour, key, token: key };
      },
      operation({
        summary: "Create inbox key",
        access: "full",
        description: "The same as `POST /v1/keys` with the access `agent` and this `inboxId`.",
        path: idPath("inbox"),
        whenRefused,
        body: NewInboxKey,
        bodyMayBeEmpty: true,
        answers: { 201: InboxKey },
        answerHeaders: { 201: { Location: "Path of the key" } },
        refuses: ["quota_exceeded"],
      }),
    )
    .get(
      "/:id/api-keys",
      async ({ account, params, query: { limit, offset } }) => {
        const { id: inboxId } = await ownedInbox(deps, account.reach, params.id);
        const page = { reach: account.reach, inboxId, externalId: undefined, isRevoked: false, limit, offset };
        const [data, total] = await Promise.all([listApiKeys(deps.db.api, page), countApiKeys(deps.db.api, page)]);
        return { data: data.map(toKey), total };
      },
      operation({
        summary: "List inbox keys",
        access: "full",
        description: "The same as `GET /v1/keys` with this `inbox_id` and `revoked=false`.",
        path: idPath("inbox"),
        whenRefused,
        query: Type.Object(pageQuery()),
        answers: { 200: KeyPage },
      }),
    )
    .delete(
      "/:id/api-keys/:key_id",
      async ({ account, actor, params, set }) => {
        await ownedInbox(deps, account.reach, params.id);
        const { inboxId } = await ownedKey(deps.db.api, account.reach, params.key_id);
        if (inboxId !== params.id) throw notFound("key");
        await endKey(deps, managerOf(account, actor), params.key_id);
        set.status = 204;
      },
      operation({
        summary: "Revoke inbox key",
        access: "full",
        description: "The same as `DELETE /v1/keys/{id}`, for a key of this inbox.",
        path: inboxKeyPath,
        whenRefused,
        answers: { 204: nothing("Revoked") },
      }),
    );
}
