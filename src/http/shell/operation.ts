import { type Static, type TObject, type TSchema, type TUnsafe, Type } from "@sinclair/typebox";
import { refuseWithout } from "../../domain/access/access.ts";
import { type Closure, refuseSuspended } from "../../domain/access/suspension.ts";
import { Refusal } from "../../domain/errors.ts";
import { missingIdempotencyKey } from "../../domain/idempotency.ts";
import { operationId } from "../document/operation-object.ts";
import type { AnyOperation } from "../document/refusals.ts";
import { bodyJudge, queryJudge, readAsTheyAre } from "../judging/faults.ts";
import { type BodyLimits, hasBody, invalidJson, isForm, parseJson, readBody, refuseEncoded } from "./body.ts";
import { type Operation, type Refused, takesNoBody } from "./described-operation.ts";
import { idempotencyKeyOf } from "./request-headers.ts";

/**
 * The hook of a route. It reads and validates body and query in the route's own transform, which runs last: the guard
 * and the look-up of the resource come first (401 → 404 → 403 → 415/413 → 400). Elysia would parse the body before them, so
 * it gets only the types of body and query, not their schemas. Elysia validates responses, except lists: validating
 * fifty messages takes a tenth of the time of a page. A test compares every list with the document instead.
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
    transform: taker(of as AnyOperation),
    detail: { operationId: operationId(of), operation: of },
    ...(isList ? { mapResponse: longAnswer } : { response: of.answers }),
  };
  return hook as unknown as { response: Answers; detail: Record<string, unknown> } & ([Body] extends [never]
    ? unknown
    : { body: TUnsafe<Value> }) &
    ([Query] extends [never] ? unknown : { query: Query });
}

/**
 * Reads a request in the steps of its operation, and gives the context the body and the query. The function names the fields that it needs:
 * Elysia looks for them in its text, and prepares header fields, cookies and a query for a function that passes on its whole context.
 */
function taker(of: AnyOperation) {
  const steps = stepsOf(of);
  async function takeAll(taken: Taken): Promise<Taken["read"]> {
    try {
      for (const step of steps) {
        const waiting = step(taken);
        if (waiting !== undefined) await waiting;
      }
      return taken.read;
    } catch (error) {
      throw error instanceof Refusal && of.whenRefused ? await of.whenRefused(taken, error) : error;
    }
  }
  return ({ account, closureNow, request, url, qi, bodyLimits, params, set }: Omit<Taken, "read">) =>
    takeAll({ account, closureNow, request, url, qi, bodyLimits, params, set, read: {} });
}

/** The steps that read a request, in the contract's order (§2). */
function stepsOf(of: AnyOperation): ((taken: Taken) => void | Promise<void>)[] {
  const { idempotencyKey, query, body, readForm } = of;
  const doing = of.summary.charAt(0).toLowerCase() + of.summary.slice(1);
  const isOpen = of.access === "open";
  const closing = { sends: of.sends === true, showsAccount: of.access === "any" };
  const refuseClosed = ({ closureNow }: Taken) => refuseSuspended(closureNow?.(), closing, doing);
  const steps: ((taken: Taken) => void | Promise<void>)[] = [];
  // The guard has let in operators alone.
  if (!isOpen && of.access !== "operator") {
    const mayCall = of.access;
    steps.push((taken) => {
      const { account } = taken;
      // With INGEST_TOKEN, which the guard lets in at this operation alone.
      if (mayCall === "ingest" && account === undefined) return;
      refuseWithout(mayCall, account, doing);
      refuseClosed(taken);
    });
  }
  if (body !== undefined) {
    steps.push(async ({ request, bodyLimits, read }) => {
      if (readForm && isForm(request)) refuseEncoded(request);
      else read.body = await readBody(request, bodyLimits);
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
    steps.push((taken) => {
      taken.read.query = judge(queryOf(taken));
    });
  } else if (!isOpen) {
    // Refuses all parameters. An open operation ignores them, because campaigns and caches add parameters to links.
    const judge = queryJudge(Type.Object({}), doing);
    steps.push((taken) => {
      if (taken.qi !== -1) judge(queryOf(taken));
    });
  }
  if (body !== undefined) {
    const judge = bodyJudge(body, doing, of.readFields ?? readAsTheyAre(of.alsoWrong));
    const whenEmpty = of.bodyMayBeEmpty ? {} : undefined;
    const takeForm = async (taken: Taken) => {
      taken.read.body = await readForm?.(taken, judge);
    };
    const takeJson = ({ read }: Taken, bytes: Uint8Array) => {
      const value = parseJson(bytes);
      if (value === undefined && whenEmpty === undefined) throw invalidJson("it is empty");
      read.body = judge(value === undefined ? whenEmpty : value);
    };
    // A form is read only now. Every other body is already read.
    steps.push((taken) => (taken.read.body instanceof Uint8Array ? takeJson(taken, taken.read.body) : takeForm(taken)));
    // A body may take minutes. Of an account that moves meanwhile, what is written now would be missing where it moves to.
    steps.push(refuseClosed);
  }
  if (takesNoBody(of)) {
    const judge = bodyJudge(Type.Object({}), doing);
    const judgeNothing = async ({ request, bodyLimits }: Taken) => {
      judge(parseJson(await readBody(request, bodyLimits)) ?? {});
    };
    // Refuses fields: if they were ignored, the caller would believe that they had an effect.
    steps.push((taken) => (hasBody(taken.request) ? judgeNothing(taken) : undefined));
  }
  return steps;
}

function queryOf({ url, qi }: Taken): string {
  return qi === -1 ? "" : url.slice(qi + 1);
}

interface Taken extends Refused {
  /** The suspension of the account by the operator at this instant. Undefined without an account. */
  closureNow: (() => Closure | undefined) | undefined;
  request: Request;
  url: string;
  /** The index of the query in `url`, or -1. Elysia sets it. */
  qi: number;
  bodyLimits: BodyLimits;
  /** The body and the query, as far as the steps have read them. */
  read: { body?: unknown; query?: unknown };
}

interface Answered {
  responseValue: unknown;
  set: { headers: Record<string, string | number> };
}

/**
 * Answers a list of more than five items, as a stream of one chunk if its text is long. Undefined for other values,
 * which Elysia serialises.
 *
 * Bun sends the headers of an asynchronous answer in one write only if the body is short. With a long body it makes
 * eighteen writes, each of them a packet, which takes twice as long as everything else about a page of messages. It
 * always sends the headers of a stream in one write.
 */
function longAnswer({ responseValue, set }: Answered): Response | undefined {
  if (!isListOfSeveral(responseValue)) return undefined;
  const text = JSON.stringify(responseValue);
  set.headers["content-type"] = "application/json;charset=utf-8";
  return new Response(text.length < oneWriteCharacters ? text : inOneChunk(text));
}

/** Whether the value is a list of more than five items. A shorter list rarely exceeds one write. */
function isListOfSeveral(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data) && value.data.length > 5
  );
}

/** A direct stream, which Bun's types lack: one pull gives the whole text. */
function inOneChunk(text: string): ReadableStream {
  const source = {
    type: "direct",
    pull(controller: { write(text: string): unknown; close(): void }) {
      controller.write(text);
      controller.close();
    },
  };
  return new ReadableStream(source as unknown as UnderlyingByteSource);
}

/** Texts of this length or more are streamed. Bun's limit for one write is 15,360 octets. */
const oneWriteCharacters = 15_000;
