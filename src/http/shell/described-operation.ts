import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Reason, Refusal } from "../../domain/errors.ts";
import type { SecurityScheme } from "../document/security.ts";
import type { FaultsOfFields, ReadFields } from "../judging/faults.ts";
import type { Account } from "./auth.ts";

/** One operation of the API: what it takes, what it answers, what it refuses, in words for the document. */
export interface Operation<
  Body extends TSchema,
  Query extends TObject,
  Answers extends Record<number, TSchema>,
  Value = Static<Body>,
> {
  /** In the imperative, as "Create inbox"; a refusal begins with it: `Cannot create inbox: …`. */
  summary: string;
  description: string;
  body?: Body;
  /** Bodies of other kinds that it takes, for the document alone: by media type, what is said of each. */
  otherBodies?: Record<string, { schema: Record<string, unknown>; example?: unknown }>;
  /** Reads a body that is a form, to the value that the same request has in JSON, and has it judged. */
  readForm?: (context: Refused & { request: Request }, judge: (value: unknown) => unknown) => Promise<unknown>;
  /** Faults of the body that its schema can't see, since they lie between fields; told together with the schema's own. */
  alsoWrong?: FaultsOfFields;
  /** In its place, where more is read of the fields than what is wrong with them: the handler gets that as its body. */
  readFields?: ReadFields<Value>;
  /** A request without any body then counts as `{}`. */
  bodyMayBeEmpty?: boolean;
  query?: Query;
  /** Path parameters, for the document alone: an id of the wrong form is an unknown id. */
  path?: Record<string, { description: string; example: string }>;
  /** Query parameters of a signed address that stands for a key, for the document alone: the handler judges them. */
  link?: Record<string, { description: string; example: string }>;
  /** Whether the `Idempotency-Key` field is read; the handler finds it by `idempotencyKeyOf(request)`. */
  idempotencyKey?: "required" | "optional";
  /** Other request headers that the operation reads, for the document alone. */
  headers?: Record<string, { description: string; required?: boolean; example?: string }>;
  answers: Answers;
  /** What it may answer under the same status in another media type, for the document alone. */
  otherAnswers?: Record<number, TSchema>;
  /** Response headers, by status; those of a refusal too. */
  answerHeaders?: Record<number, Record<string, string>>;
  /** What to refuse with, and to set on the answer, where what the request brings is refused with this. */
  whenRefused?: (context: Refused, refusal: Refusal) => Promise<Refusal>;
  /** Needs no key. Only the document reads this: what is open is mounted as open. */
  open?: boolean;
  /** What proves the caller in place of a key, one of these schemes; for the document alone. */
  security?: readonly SecurityScheme[];
  /** A body that the handler reads by itself, since its form hangs on who sends it; for the document alone. */
  ownBody?: TSchema;
  /** Reasons beyond those that every operation has. */
  refuses?: readonly Reason[];
}

/** Whether an operation under a key has no use for a body. */
export function takesNoBody({
  open,
  body,
  ownBody,
  otherBodies,
}: Pick<Operation<TSchema, TObject, Record<number, TSchema>>, "open" | "body" | "ownBody" | "otherBodies">): boolean {
  return !open && body === undefined && ownBody === undefined && otherBodies === undefined;
}

/**
 * For an operation whose handler looks its resource up: that there is none comes before what else is wrong with the request
 * (contract §2.2).
 */
export function whetherThere(
  lookUp: (accountId: string, id: string) => Promise<unknown>,
): (context: Refused, refusal: Refusal) => Promise<Refusal> {
  return async ({ account, params }, refusal) => {
    await lookUp(account.id, params.id ?? "");
    return refusal;
  };
}

/** What a refused request is known by: the guard and the look-up of its resource have let it pass. */
export interface Refused {
  account: Account;
  params: Record<string, string>;
  set: { headers: Record<string, string | number> };
}
