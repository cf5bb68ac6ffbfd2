import { Kind, type SchemaOptions, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { examples } from "../document/examples.ts";
import { named, shownWith } from "../document/schema.ts";

/**
 * The options of the schemas that this file makes. `error` is the text that a caller gets if a value does not fit
 * ("must be …"). Without it judging/faults.ts makes one from the type.
 */
interface Options extends SchemaOptions {
  error?: string;
}

export interface TText extends TSchema {
  [Kind]: "Text";
  static: string;
  type: "string";
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/**
 * The schema of a string whose length is counted in Unicode code points, as JSON Schema says (Validation §6.3.1).
 * TypeBox's own String counts UTF-16 units, so an emoji would count as two characters.
 */
export function text({ min, max, ...options }: Options & { min?: number; max?: number; pattern?: string } = {}): TText {
  return Type.Unsafe<string>({
    ...options,
    [Kind]: "Text",
    type: "string",
    ...(min !== undefined && { minLength: min }),
    ...(max !== undefined && { maxLength: max }),
  }) as unknown as TText;
}

TypeRegistry.Set<TText>("Text", ({ minLength = 0, maxLength = Number.MAX_SAFE_INTEGER, pattern }, value) => {
  if (typeof value !== "string") return false;
  // A string has at least half as many code points as units, and at most as many, so most need no counting.
  if (value.length > maxLength * 2 || value.length < minLength) return false;
  if (value.length > maxLength || value.length < minLength * 2) {
    const length = codePoints(value);
    if (length < minLength || length > maxLength) return false;
  }
  return pattern === undefined || compiled(pattern).test(value);
});

export interface TOneOf<Value extends string> extends TSchema {
  [Kind]: "OneOf";
  static: Value;
  type: "string";
  enum: readonly Value[];
}

/**
 * The schema of a string that is one of `values`. It is an `enum` in the document; a union of literals would be a long
 * `anyOf`.
 */
export function oneOf<const Value extends string>(values: readonly Value[], options: Options = {}): TOneOf<Value> {
  return Type.Unsafe<Value>({ ...options, [Kind]: "OneOf", type: "string", enum: values }) as unknown as TOneOf<Value>;
}

TypeRegistry.Set<TOneOf<string>>("OneOf", (schema, value) => typeof value === "string" && schema.enum.includes(value));

/** The schema of an instant that the service writes: ISO 8601 in UTC with milliseconds, as from `Date.toISOString`. */
export function instant(options: Options = {}) {
  return shownWith(Type.String({ examples: [examples.receivedAt], ...options }), { format: "date-time" });
}

export function nullable<Schema extends TSchema>(schema: Schema, options: Options = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** The schema of an answer without a body (204). */
export function nothing(description: string) {
  return Type.Void({ description });
}

/** The query parameters `limit` and `offset` of a list. A value outside the range is refused, never clamped. */
export function pageQuery(defaultLimit = 50) {
  return {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: defaultLimit, description: "How many to return" }),
    offset: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: "How many to skip",
    }),
  };
}

/** A path parameter that is an id, for the document only. A malformed id is an unknown id, so it is not validated. */
export function idPath(
  what:
    | "inbox"
    | "thread"
    | "message"
    | "draft"
    | "event"
    | "webhook"
    | "suppression"
    | "rule"
    | "domain"
    | "key"
    | "grant",
) {
  return { id: { description: `Id of the ${what}`, example: examples[`${what}Id`] } };
}

/** The schema of `total`: the number of all rows of a list, not only of this page. */
export function totalCount(description: string) {
  return Type.Integer({ minimum: 0, description, examples: [1] });
}

/** The schema of `nextCursor`: the cursor of the next page of a list, or null. */
export function nextCursor() {
  return nullable(Type.String({ examples: [examples.cursor] }), {
    description: "`cursor` of the next page; null at the end",
    examples: [null],
  });
}

const Fault = named(
  "Fault",
  Type.Object(
    {
      pointer: Type.Optional(Type.String({ description: "JSON Pointer to the field", examples: ["#/to"] })),
      parameter: Type.Optional(Type.String({ description: "Name of the query parameter", examples: ["limit"] })),
      detail: Type.String({ description: "What it must be", examples: ["must be one email address"] }),
    },
    {
      description: "One fault of a body (`pointer`) or of a query (`parameter`)",
      examples: [{ pointer: "#/to", detail: "must be one email address" }],
    },
  ),
);

export const Problem = named(
  "Problem",
  Type.Object(
    {
      type: Type.String({ description: "Always `about:blank`: the code is the type", examples: ["about:blank"] }),
      title: Type.String({ description: "The status in words", examples: ["Bad Request"] }),
      status: Type.Integer({ description: "The status of the answer", examples: [400] }),
      detail: Type.String({ description: "What could not be done, and why" }),
      instance: Type.String({ description: "Path of the request" }),
      code: Type.String({ description: "The stable part: branch on this" }),
      error: Type.String({ description: "The same as `code`" }),
      message: Type.String({ description: "The same as `detail`" }),
      request_id: Type.String({ description: "The same as the `X-Request-Id` header" }),
      resource: Type.Optional(
        Type.String({
          description: "With `not_found`: the missing resource. With `quota_exceeded`: what there is too much of",
        }),
      ),
      required_access: Type.Optional(Type.String({ description: "With `forbidden`: the least access that suffices" })),
      feature: Type.Optional(Type.String({ description: "With `feature_requires_paid_plan`: the missing feature" })),
      limit: Type.Optional(Type.Integer({ description: "With a reached limit: the limit" })),
      suppression_id: Type.Optional(
        Type.String({ description: "With `recipient_suppressed`: the suppression. `DELETE` it to allow mail again" }),
      ),
      reason: Type.Optional(
        nullable(Type.String(), {
          description:
            "With `recipient_suppressed`: the reason of the suppression. With `draft_rejected`: the reason that the person gave. With `text_unavailable`: `unsupported`, `encrypted`, `damaged`, `too_large` or `no_text`",
        }),
      ),
      expires_at: Type.Optional(
        nullable(shownWith(Type.String(), { format: "date-time" }), {
          description: "With `recipient_suppressed`: when it ends; null: never",
        }),
      ),
      recipients: Type.Optional(
        Type.Array(Type.Unknown(), {
          description:
            "With `recipient_not_allowed` and `cold_outreach_limit`: the addresses that it is about. With `recipient_suppressed` of several: each with its suppression",
        }),
      ),
      rule_id: Type.Optional(
        nullable(Type.String(), {
          description:
            "With `recipient_not_allowed`: the rule that blocks; null: `sendPolicy` allows known recipients alone",
        }),
      ),
      scope: Type.Optional(
        Type.String({
          description:
            "With `too_many_listeners`: whose limit it is, `account` or `process`. With `account_suspended`: what is suspended, `sending` or `all`",
        }),
      ),
      message_status: Type.Optional(Type.String({ description: "With `not_cancelable`: the status of the message" })),
      state: Type.Optional(Type.String({ description: "With `draft_not_open`: the state of the draft" })),
      approval: Type.Optional(
        Type.Unknown({ description: "With `draft_not_open`: its approval, if one was asked for" }),
      ),
      draftId: Type.Optional(Type.String({ description: "With `draft_rejected`: the rejected draft" })),
      messageId: Type.Optional(
        Type.String({ description: "With `answered_meanwhile`: the newest message of the inbox in the thread" }),
      ),
      inboxes: Type.Optional(Type.Integer({ description: "With `domain_in_use`: how many inboxes stand in the way" })),
      domain: Type.Optional(Type.String({ description: "With `domain_not_verified`: the domain" })),
      domain_status: Type.Optional(Type.String({ description: "With `domain_not_verified`: its status" })),
      used: Type.Optional(Type.Integer({ description: "With a reached limit: how many were used" })),
      resets_at: Type.Optional(
        shownWith(Type.String({ description: "With a 429: when the limit resets" }), { format: "date-time" }),
      ),
      errors: Type.Optional(Type.Array(Fault, { description: "Each fault of a body or a query, all at once" })),
    },
    {
      description: "Why a request was refused, as problem details (RFC 9457)",
      examples: [
        {
          type: "about:blank",
          title: "Bad Request",
          status: 400,
          detail: 'Cannot send email: "to" must be one email address',
          instance: `/v1/inboxes/${examples.inboxId}/send`,
          code: "validation_error",
          error: "validation_error",
          message: 'Cannot send email: "to" must be one email address',
          request_id: examples.requestId,
          errors: [{ pointer: "#/to", detail: "must be one email address" }],
        },
      ],
    },
  ),
);

/** Counts the code points of a text: a surrogate pair is one. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      count -= 1;
      index += 1;
    }
  }
  return count;
}

const patterns = new Map<string, RegExp>();

function compiled(pattern: string): RegExp {
  let expression = patterns.get(pattern);
  if (expression === undefined) {
    expression = new RegExp(pattern, "u");
    patterns.set(pattern, expression);
  }
  return expression;
}
