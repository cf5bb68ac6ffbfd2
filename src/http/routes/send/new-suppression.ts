import { type Static, Type } from "@sinclair/typebox";
import type { Fault } from "../../../domain/errors.ts";
import { isPattern, suppressedForm, suppressionReasons } from "../../../domain/send/suppressed.ts";
import type { Deps } from "../../../flows/deps.ts";
import type { AskedSuppression } from "../../../flows/send/manage-suppressions.ts";
import { parseSendAddress } from "../../../standards/address.ts";
import { parseInstant, yearsOfInstants } from "../../../standards/instant.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { nullable, oneOf, text } from "../../shell/models.ts";
import { emailAddress } from "./email-address.ts";

const instantRule = `must be an RFC 3339 date-time of ${yearsOfInstants}`;

/** A request may add at most this many suppressions. */
const mostAtOnce = 1000;

const instantText = (more: { description?: string } = {}) =>
  text({ max: 40, examples: [examples.suppressedUntil], error: instantRule, ...more });

const wanted = (mailDomain: string) => ({
  inboxId: alsoNamed(
    "inbox_id",
    Type.Optional(
      nullable(text({ examples: [examples.inboxId] }), {
        description: "The inbox that it applies to. Null: the whole account",
        error: "must be a string",
      }),
    ),
  ),
  detail: Type.Optional(
    nullable(text({ max: 500, examples: ["asked us by phone"] }), {
      description: "Your own note",
      error: "must be a string of at most 500 characters",
    }),
  ),
  expiresAt: alsoNamed(
    "expires_at",
    Type.Optional(
      nullable(instantText(), {
        description:
          "When it ends; null: never. Default: a `bounce` ends `BOUNCE_SUPPRESSION_DAYS` after its `createdAt`, others never end",
        error: instantRule,
      }),
    ),
  ),
  address: Type.Optional(
    emailAddress(mailDomain, {
      description: "One bare address, without `*` and `%`: no domains, no patterns",
      examples: [examples.sender],
    }),
  ),
});

/** The body that adds one suppression or many. */
export function newSuppression(mailDomain: string) {
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
                reason: Type.Optional(oneOf(suppressionReasons, { description: "Default: `manual`" })),
                createdAt: alsoNamed(
                  "created_at",
                  Type.Optional(instantText({ description: "When it began. Default: now" })),
                ),
              },
              { description: "One suppression of the list" },
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

/** Finds the faults that no schema finds: fields that may not be combined, and an `expiresAt` in the past. */
export function faultsOfNew({ now }: Deps) {
  return (fields: Readonly<Record<string, unknown>>): Fault[] => {
    const { data, ...one } = fields;
    if (data === undefined) {
      const missing = one.address === undefined ? [{ pointer: "#/address", detail: 'is required without "data"' }] : [];
      return [...missing, ...fieldFaults(one, "#", now())];
    }
    const beside = Object.keys(one).map((name) => ({ pointer: `#/${name}`, detail: 'cannot be combined with "data"' }));
    const items = Array.isArray(data) ? data : [];
    return [...beside, ...items.flatMap((item, index) => fieldFaults(item ?? {}, `#/data/${index}`, now()))];
  };
}

function fieldFaults({ address, createdAt, expiresAt }: Record<string, unknown>, at: string, now: Date): Fault[] {
  const faults: Fault[] = [];
  if (typeof address === "string" && isPattern(address)) {
    faults.push({ pointer: `${at}/address`, detail: "must be one email address without * and %" });
  }
  const isInstant = (value: unknown) => typeof value !== "string" || parseInstant(value) !== undefined;
  if (!isInstant(createdAt)) faults.push({ pointer: `${at}/createdAt`, detail: instantRule });
  if (!isInstant(expiresAt)) faults.push({ pointer: `${at}/expiresAt`, detail: instantRule });
  const end = typeof expiresAt === "string" ? parseInstant(expiresAt) : undefined;
  if (end !== undefined && end <= now) faults.push({ pointer: `${at}/expiresAt`, detail: "must be in the future" });
  return faults;
}

type OneOfMany = NonNullable<NewSuppression["data"]>[number];

export function asked({
  address,
  inboxId,
  reason = "manual",
  detail,
  createdAt,
  expiresAt,
}: Partial<OneOfMany>): AskedSuppression {
  const instantOf = (given: string | undefined) => (given ? parseInstant(given) : undefined);
  return {
    address: wireAddress(address ?? ""),
    inboxId: inboxId ?? undefined,
    reason,
    detail: detail ?? undefined,
    createdAt: instantOf(createdAt),
    expiresAt: expiresAt === null ? null : instantOf(expiresAt),
  };
}

/** The address as suppressions store it. The schema has checked it. */
export function wireAddress(address: string): string {
  const domain = address.slice(address.lastIndexOf("@") + 1);
  return suppressedForm(parseSendAddress(address, domain) ?? address);
}
