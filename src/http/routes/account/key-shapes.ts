import { Type } from "@sinclair/typebox";
import { accesses } from "../../../domain/access/access.ts";
import type { Fault } from "../../../domain/errors.ts";
import { sendPolicies } from "../../../domain/policy.ts";
import type { MadeKey } from "../../../flows/account/manage-keys.ts";
import { parseInstant, yearsOfInstants } from "../../../standards/instant.ts";
import { isAddressBlock } from "../../../standards/ip.ts";
import type { ApiKeyInfo } from "../../../store/account/keys.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { instant, nullable, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { sendPolicyMeanings, sendPolicyShown } from "./send-policy.ts";

const accessMeanings =
  "`full`: everything; `agent`: read, send, mark, wait and stream; `send`: send, and cancel its own mail, without reading mail; `read`: only read; `ingest`: only hand in received mail";

export const keyFields = {
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
    description: "Its creator: the id of a key, `cli` or `operator`; null for the key of a first start",
    examples: [null],
  }),
  lastUsedAt: nullable(instant(), {
    description: "When it was last used, to the minute; null: never",
    examples: [null],
  }),
  expiresAt: nullable(instant(), { description: "When it ends; null: never", examples: [null] }),
  revokedAt: nullable(instant(), { description: "When it was revoked; null if it was not", examples: [null] }),
  sendPolicy: nullable(sendPolicyShown("the key"), {
    description: `To whom the key and its tokens may send; null: as the inbox may. ${sendPolicyMeanings}`,
    examples: [null],
  }),
};

export const KeyShape = named("Key", Type.Object(keyFields, { description: "An API key, without its secret" }));

export const CreatedKey = named(
  "CreatedKey",
  Type.Object(
    {
      ...keyFields,
      key: Type.String({ description: "The key itself, which is shown only here", examples: [examples.apiKey] }),
    },
    { description: "A new key" },
  ),
);

export const KeyPage = named(
  "KeyPage",
  Type.Object(
    {
      data: Type.Array(KeyShape, { description: "Keys, newest first" }),
      total: totalCount("How many keys there are in all"),
    },
    { description: "A page of keys, and how many there are in all" },
  ),
);

const label = text({ min: 1, max: 100, pattern: "^.*\\S.*$", examples: ["support agent"] });
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

const sendPolicy = alsoNamed(
  "send_policy",
  Type.Optional(
    nullable(sendPolicyShown("the key"), {
      description: `To whom the key and its tokens may send; null: as the inbox may. ${sendPolicyMeanings}. A key makes no key with a milder one than its own`,
      error: `must be null or one of ${sendPolicies.join(", ")}`,
      examples: [null],
    }),
  ),
);

export const NewKey = named(
  "NewKey",
  Type.Object(
    {
      name: Type.Optional(
        nullable(label, { description: "A label for people", error: "must have 1 to 100 characters on one line" }),
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
      sendPolicy,
    },
    {
      description: "The new key. All fields are optional",
      examples: [{ name: "support agent", access: "agent", externalId: examples.externalId }],
    },
  ),
);

export const KeyChange = named(
  "KeyChange",
  Type.Object(
    {
      name: Type.Optional(
        nullable(label, {
          description: "A label for people; null for none",
          error: "must have 1 to 100 characters on one line",
        }),
      ),
      allowedIps,
      expiresAt: alsoNamed(
        "expires_at",
        Type.Optional(
          nullable(expiry, { description: "When it ends; null: never", error: "must be an instant", examples: [null] }),
        ),
      ),
      sendPolicy,
    },
    { description: "The changes. Missing fields stay as they are", examples: [{ name: "support agent" }] },
  ),
);

export const overlapSeconds = { usual: 86_400, most: 604_800 };

export const KeyRotation = named(
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

export const KeyQuery = Type.Object({
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
export function faultsOfKey({
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

export function faultsOfChange({ expiresAt, allowedIps: blocks }: Fields): readonly Fault[] {
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

/** The part of an answer that has the address of a new key, and forbids to cache it. */
export interface KeyAnswer {
  status?: number | string | undefined;
  headers: Record<string, string | number>;
}

export function toCreated({ info, key }: MadeKey, set: KeyAnswer) {
  set.status = 201;
  set.headers.location = `/v1/keys/${info.id}`;
  set.headers["cache-control"] = "no-store";
  return { ...toKey(info), key };
}

export function toKey(key: ApiKeyInfo) {
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
    sendPolicy: key.sendPolicy,
  };
}
