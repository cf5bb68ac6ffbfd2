import type { TObject, TSchema } from "@sinclair/typebox";
import type { Reason } from "../domain/errors.ts";
import { type BodyLimits, invalidJson, readJson } from "./body.ts";
import { bodyJudge, queryJudge } from "./faults.ts";
import { documented } from "./openapi.ts";

/** One operation of the API: what it takes, what it answers, what it refuses, in words for the document. */
export interface Operation<Body extends TSchema, Query extends TObject, Answers extends Record<number, TSchema>> {
  /** In the imperative, as "Create inbox"; a refusal begins with it: `Cannot create inbox: …`. */
  summary: string;
  description: string;
  body?: Body;
  /** A request without any body then counts as `{}`. */
  bodyMayBeEmpty?: boolean;
  query?: Query;
  /** Path parameters, for the document alone: an id of the wrong form is an unknown id. */
  path?: Record<string, { description: string; example: string }>;
  /** Request headers that the operation reads, for the document alone. */
  headers?: Record<string, { description: string; required?: boolean; example?: string }>;
  answers: Answers;
  /** Response headers, by status. */
  answerHeaders?: Record<number, Record<string, string>>;
  /** Needs no key. Only the document reads this: what is open is mounted as open. */
  open?: boolean;
  /** Reasons beyond those that every operation has. */
  refuses?: readonly Reason[];
}

/**
 * The hook of a route. Body and query are read and judged here, as the route's own and therefore last transform: the
 * guard and a look-up of the resource come before it (401 → 404 → 415/413 → 400), which Elysia's order, with parsing
 * first, would not give. So Elysia itself gets no schema for them, only their types; responses it validates.
 */
export function operation<
  Answers extends Record<number, TSchema>,
  Body extends TSchema = never,
  Query extends TObject = never,
>(of: Operation<Body, Query, Answers>) {
  const doing = of.summary.charAt(0).toLowerCase() + of.summary.slice(1);
  const judgeQuery = of.query && queryJudge(of.query, doing);
  const judgeBody = of.body && bodyJudge(of.body, doing);
  const transform: ((context: Read) => void | Promise<void>)[] = [];
  if (judgeQuery) {
    transform.push((context) => {
      context.query = judgeQuery(context.qi === -1 ? "" : context.url.slice(context.qi + 1));
    });
  }
  if (judgeBody) {
    const whenEmpty = of.bodyMayBeEmpty ? {} : undefined;
    transform.push(async (context) => {
      const value = (await readJson(context.request, context.bodyLimits)) ?? whenEmpty;
      if (value === undefined) throw invalidJson("it is empty");
      context.body = judgeBody(value);
    });
  }
  const hook = { parse: "none" as const, transform, response: of.answers, detail: documented(of) };
  return hook as unknown as Hook<Answers> &
    ([Body] extends [never] ? unknown : { body: Body }) &
    ([Query] extends [never] ? unknown : { query: Query });
}

interface Hook<Answers> {
  response: Answers;
  detail: Record<string, unknown>;
}

interface Read {
  request: Request;
  url: string;
  /** Where the query begins in `url`: Elysia's own field. */
  qi: number;
  bodyLimits: BodyLimits;
  body: unknown;
  query: unknown;
}
