import { type Static, type TObject, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";
import { Refusal } from "../../domain/errors.ts";
import { missingIdempotencyKey } from "../../domain/idempotency.ts";
import { operationId } from "../document/operation-object.ts";
import type { AnyOperation } from "../document/refusals.ts";
import { bodyJudge, queryJudge, readAsTheyAre } from "../judging/faults.ts";
import { type BodyLimits, bringsBody, invalidJson, isForm, parseJson, readBody, refuseEncoded } from "./body.ts";
import { type Operation, type Refused, takesNoBody } from "./described-operation.ts";
import { idempotencyKeyOf } from "./request-headers.ts";

/**
 * The hook of a route. Body and query are read and judged here, as the route's own and therefore last transform: the
 * guard and a look-up of the resource come before it (401 → 404 → 415/413 → 400), which Elysia's order, with parsing
 * first, would not give. So Elysia itself gets no schema for them, only their types. Responses it validates, but for lists: to go over
 * fifty messages again takes a tenth of the time of a page, and a test holds every list against what is documented.
 */
export function operation<
  Answers extends Record<number, TSchema>,
  Body extends TSchema = never,
  Query extends TObject = never,
  Value = Static<Body>,
>(of: Operation<Body, Query, Answers, Value>) {
  const isList = of.query !== undefined && "limit" in of.query.properties;
  const hook = {
    parse: "none" as const,
    transform: takes(of as AnyOperation),
    detail: { operationId: operationId(of), operation: of },
    ...(isList ? { mapResponse: longAnswer } : { response: of.answers }),
  };
  return hook as unknown as { response: Answers; detail: Record<string, unknown> } & ([Body] extends [never]
    ? unknown
    : { body: TUnsafe<Value> }) &
    ([Query] extends [never] ? unknown : { query: Query });
}

/** What a request brings is taken in the contract's order (§2), one step after the other. */
function takes(of: AnyOperation): ((context: Taken) => void | Promise<void>)[] {
  const { idempotencyKey, query, body, readForm, whenRefused } = of;
  const doing = of.summary.charAt(0).toLowerCase() + of.summary.slice(1);
  const steps: ((context: Taken) => void | Promise<void>)[] = [];
  if (body !== undefined) {
    steps.push(async (context) => {
      if (readForm && isForm(context.request)) refuseEncoded(context.request);
      else context.body = await readBody(context.request, context.bodyLimits);
    });
  }
  if (idempotencyKey !== undefined) {
    steps.push(({ request }) => {
      const key = idempotencyKeyOf(request);
      if (key === undefined && idempotencyKey === "required") throw missingIdempotencyKey();
    });
  }
  if (query !== undefined) {
    const judge = queryJudge(query, doing);
    steps.push((context) => {
      context.query = judge(queryOf(context));
    });
  } else if (!of.open) {
    // An open address is a link, and links are given parameters on their way: by campaigns, by those who break caches.
    const judge = queryJudge(Type.Object({}), doing);
    steps.push((context) => {
      if (context.qi !== -1) judge(queryOf(context));
    });
  }
  if (body !== undefined) {
    const judge = bodyJudge(body, doing, of.readFields ?? readAsTheyAre(of.alsoWrong));
    const whenEmpty = of.bodyMayBeEmpty ? {} : undefined;
    const takeForm = async (context: Taken) => {
      context.body = await readForm?.(context as unknown as Refused & Taken, judge);
    };
    const takeJson = (context: Taken, bytes: Uint8Array) => {
      const value = parseJson(bytes);
      if (value === undefined && whenEmpty === undefined) throw invalidJson("it is empty");
      context.body = judge(value === undefined ? whenEmpty : value);
    };
    // A form is read while it is judged; all else has been read.
    steps.push((context) => (context.body instanceof Uint8Array ? takeJson(context, context.body) : takeForm(context)));
  }
  if (takesNoBody(of)) {
    const judge = bodyJudge(Type.Object({}), doing);
    const judgeNothing = async ({ request, bodyLimits }: Taken) => {
      judge(parseJson(await readBody(request, bodyLimits)) ?? {});
    };
    // A field that is dropped while the answer says that all is done would be worse than a refusal.
    steps.push((context) => (bringsBody(context.request) ? judgeNothing(context) : undefined));
  }
  if (whenRefused === undefined) return steps;
  return steps.map((step) => async (context: Taken) => {
    try {
      await step(context);
    } catch (error) {
      throw error instanceof Refusal ? await whenRefused(context as unknown as Refused, error) : error;
    }
  });
}

function queryOf({ url, qi }: Taken): string {
  return qi === -1 ? "" : url.slice(qi + 1);
}

interface Taken {
  request: Request;
  url: string;
  /** Where the query begins in `url`, or -1: Elysia's own field. */
  qi: number;
  bodyLimits: BodyLimits;
  body: unknown;
  query: unknown;
}

interface Answered {
  responseValue: unknown;
  set: { headers: Record<string, string | number> };
}

/**
 * The answer of a list as a stream of one piece, where it is long; undefined for any other, which is left to the framework.
 *
 * Bun gathers the head of an answer that is made after its request's turn only where the body is short. The head of a long one goes
 * out in eighteen writes, each of them a packet, which takes twice as long as all else about a page of messages. The head of a
 * stream is always gathered.
 */
function longAnswer({ responseValue, set }: Answered): Response | undefined {
  if (!isListOfSome(responseValue)) return undefined;
  const text = JSON.stringify(responseValue);
  set.headers["content-type"] = "application/json;charset=utf-8";
  return new Response(text.length < gatheredCharacters ? text : inOnePiece(text));
}

/** What is shorter for certain is not worth a look. */
function isListOfSome(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data) && value.data.length > 5
  );
}

/** Bun's own kind of stream, which its types leave out: whoever pulls gets all at once. */
function inOnePiece(text: string): ReadableStream {
  const source = {
    type: "direct",
    pull(controller: { write(text: string): unknown; close(): void }) {
      controller.write(text);
      controller.close();
    },
  };
  return new ReadableStream(source as unknown as UnderlyingByteSource);
}

/** Bun's own bound is 15,360 octets. */
const gatheredCharacters = 15_000;
