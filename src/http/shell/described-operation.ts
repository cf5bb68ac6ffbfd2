import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { MayCall, Reach } from "../../domain/access/access.ts";
import type { Reason, Refusal } from "../../domain/errors.ts";
import type { SecurityScheme } from "../document/security.ts";
import type { FaultsOfFields, ReadFields } from "../judging/faults.ts";
import type { Account } from "./auth.ts";

/** One operation of the API: its parameters, answers and refusals, with the texts of the document. */
export interface Operation<
  Body extends TSchema,
  Query extends TObject,
  Answers extends Record<number, TSchema>,
  Value = Static<Body>,
> {
  /** An imperative, such as "Create inbox". Refusals begin with it: `Cannot create inbox: …`. */
  summary: string;
  /**
   * The callers of the operation. The check follows the look-up of the resource, so that a resource out of the caller's reach is 404.
   * An `open` operation needs no key, and its route must also be mounted as open.
   */
  access: MayCall | "operator";
  description: string;
  /** Whether it sends mail, so that it is refused if the account's sending is suspended. */
  sends?: boolean;
  body?: Body;
  /** Bodies of other media types, for the document only. */
  otherBodies?: Record<string, { schema: Record<string, unknown>; example?: unknown }>;
  /** Reads a form into the value that the same request has in JSON, and passes it to `judge`. */
  readForm?: (context: Refused & { request: Request }, judge: (value: unknown) => unknown) => Promise<unknown>;
  /** Finds faults between fields, which a schema cannot express. They are reported together with the schema's faults. */
  alsoWrong?: FaultsOfFields;
  /** Replaces `alsoWrong` if the fields are also converted. The handler gets the result as its body. */
  readFields?: ReadFields<Value>;
  /** Whether an empty body counts as `{}`. */
  bodyMayBeEmpty?: boolean;
  query?: Query;
  /** Path parameters, for the document only. They are not validated, because a malformed id is an unknown id. */
  path?: Record<string, { description: string; example: string }>;
  /** Query parameters of a signed URL. They only appear in the OpenAPI document: the handler checks them itself. */
  link?: Record<string, { description: string; example: string }>;
  /** Whether the operation reads `Idempotency-Key`. The handler gets it by `idempotencyKeyOf(request)`. */
  idempotencyKey?: "required" | "optional";
  /** Other request headers that the operation reads, for the document only. */
  headers?: Record<string, { description: string; required?: boolean; example?: string }>;
  answers: Answers;
  /** Answers with the same status in another media type, for the document only. */
  otherAnswers?: Record<number, TSchema>;
  /** Response headers by status, also of refusals. */
  answerHeaders?: Record<number, Record<string, string>>;
  /** Called when the request is refused. Returns the refusal to send, and may set headers of the answer. */
  whenRefused?: (context: Refused, refusal: Refusal) => Promise<Refusal>;
  /** Schemes that authenticate the caller instead of a key, for the document only. */
  security?: readonly SecurityScheme[];
  /** The schema of a body that the handler reads itself, because its shape depends on the sender. */
  ownBody?: TSchema;
  /** Refusals beyond those that every operation has. */
  refuses?: readonly Reason[];
}

/** Whether an operation that needs a key takes no body. */
export function takesNoBody({
  access,
  body,
  ownBody,
  otherBodies,
}: Pick<Operation<TSchema, TObject, Record<number, TSchema>>, "access" | "body" | "ownBody" | "otherBodies">): boolean {
  return access !== "open" && body === undefined && ownBody === undefined && otherBodies === undefined;
}

/**
 * A `whenRefused` for operations whose handler looks up the resource. It throws the error of `lookUp` if the resource is
 * missing, because that is reported before any other fault of the request (contract §2.2).
 */
export function whetherThere(
  lookUp: (reach: Reach, id: string, account: Account) => Promise<unknown>,
): (context: Refused, refusal: Refusal) => Promise<Refusal> {
  return async ({ account, params }, refusal) => {
    await lookUp(account.reach, params.id ?? "", account);
    return refusal;
  };
}

/** The context of a request that the guard accepted and a later check refused. */
export interface Refused {
  account: Account;
  params: Record<string, string>;
  set: { headers: Record<string, string | number> };
}
