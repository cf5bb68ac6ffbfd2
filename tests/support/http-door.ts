import { Type } from "@sinclair/typebox";
import pino from "pino";
import { DatabaseUnavailable } from "../../src/database/db.ts";
import { wholeAccount } from "../../src/domain/access/access.ts";
import { notFound, Refusal } from "../../src/domain/errors.ts";
import { alsoNamed } from "../../src/http/judging/known-fields.ts";
import { api, type HttpDeps, httpApp } from "../../src/http/shell/app.ts";
import { nothing, oneOf, pageQuery, text } from "../../src/http/shell/models.ts";
import { operation } from "../../src/http/shell/operation.ts";
import { type HttpAddress, serveHttp } from "../../src/http/shell/server.ts";
import { localServer } from "./local-server.ts";

export const goodKey = "ibx_good";

/** The HTTP shell with test routes, on a free port, with its log and the keys that were checked. */
export function openDoor(own: Partial<HttpDeps> = {}, address: HttpAddress = { hostname: "127.0.0.1", port: 0 }) {
  const log: string[] = [];
  const keysAsked: string[] = [];
  let draining = false;
  let ids = 0;
  const gate = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const logger = pino({ level: "debug" }, { write: (line: string) => void log.push(line) });
  const deps: HttpDeps = {
    authenticate: async (key) => {
      keysAsked.push(key);
      return key === goodKey ? wholeAccount({ id: "acc_1", plan: "free" }, "key_1") : undefined;
    },
    health: async () => ({ ready: true }),
    serviceId: "service-of-tests",
    cell: "00",
    isDraining: () => draining,
    newRequestId: () => {
      ids += 1;
      return `made-${ids}`;
    },
    log: logger,
    version: "1.2.3",
    thisServer: localServer,
    ...own,
  };
  const app = httpApp(deps, {
    guarded: [boxes({ arrived: arrived.resolve, mayEnd: gate.promise })],
  });
  const server = serveHttp(app, address, logger);
  return {
    server,
    /** Where a door on the network listens. */
    url: server.url?.origin ?? "",
    port: Number(server.url?.port ?? 0),
    log,
    keysAsked,
    drain: () => {
      draining = true;
    },
    /** Resolves when a request has reached `/v1/boxes/1/slow`, which answers after `letSlowEnd`. */
    slowArrived: arrived.promise,
    letSlowEnd: gate.resolve,
    /** A request, by default with the good key. */
    ask: (method: string, path: string, { headers, ...init }: RequestInit = {}) =>
      fetch(new URL(path, server.url), {
        method,
        headers: { authorization: `Bearer ${goodKey}`, ...(headers as Record<string, string>) },
        ...init,
      }),
    [Symbol.asyncDispose]: () => server.stop(0),
  };
}

const Box = Type.Object({ id: Type.String({ examples: ["1"] }), size: Type.Integer() }, { description: "A box" });

const NewBox = Type.Object({
  size: Type.Integer({ minimum: 1, maximum: 9 }),
  name: Type.Optional(text({ min: 1, max: 5 })),
  to: Type.Optional(
    text({ pattern: "^[a-z]+@[a-z]+$", error: "must be one email address", examples: ["ada@example"] }),
  ),
  kind: Type.Optional(oneOf(["flat", "tall"])),
  fragile: Type.Optional(Type.Boolean({ description: "Whether it breaks", default: true })),
  parts: Type.Optional(Type.Array(text({ max: 3 }), { maxItems: 2 })),
  lids: Type.Optional(
    Type.Array(Type.Object({ is_open: alsoNamed("isOpen", Type.Optional(Type.Boolean())) }), { maxItems: 2 }),
  ),
});

function boxes(slow: { arrived: () => void; mayEnd: Promise<void> }) {
  const shown = { answers: { 200: Box }, description: "For the tests" };
  return api("/v1/boxes", "Boxes")
    .post(
      "",
      ({ body, set }) => {
        set.status = 201;
        set.headers.location = "/v1/boxes/1";
        // A field outside the schema must not be sent.
        return { id: JSON.stringify(body), size: body.size, secret: "canary" };
      },
      operation({
        summary: "Create box",
        access: "full",
        description: "Makes a box",
        body: NewBox,
        answers: { 201: Box },
        answerHeaders: { 201: { Location: "Path of the box" } },
      }),
    )
    .post(
      "/empty",
      ({ body }) => ({ id: JSON.stringify(body), size: 1 }),
      operation({
        summary: "Create empty box",
        access: "full",
        ...shown,
        body: Type.Object({ name: Type.Optional(text()) }),
        bodyMayBeEmpty: true,
      }),
    )
    .post(
      "/anything",
      () => ({ id: "any", size: 1 }),
      operation({ summary: "Take anything", access: "full", ...shown, body: Type.Unknown({ examples: [null] }) }),
    )
    .get(
      "",
      ({ query }) => ({ id: JSON.stringify(query), size: 1 }),
      operation({
        summary: "List boxes",
        access: "read",
        ...shown,
        query: Type.Object({
          ...pageQuery(),
          fragile: alsoNamed("is_fragile", Type.Optional(Type.Boolean({ description: "Only fragile ones" }))),
          q: Type.Optional(text({ min: 1, max: 3, description: "What to look for" })),
        }),
      }),
    )
    .derive(({ params, account }) => {
      if (params.id !== "1") throw notFound("inbox");
      return { box: { id: account.id, size: 1 } };
    })
    .get("/:id", ({ box }) => box, operation({ summary: "Get box", access: "read", ...shown, path: boxPath }))
    .delete(
      "/:id",
      ({ set }) => {
        set.status = 204;
      },
      operation({
        summary: "Delete box",
        access: "full",
        description: "Ends it",
        path: boxPath,
        answers: { 204: nothing("Gone") },
      }),
    )
    .post(
      "/:id/send",
      ({ box }) => box,
      operation({
        summary: "Send box",
        access: "send",
        ...shown,
        path: boxPath,
        body: NewBox,
        idempotencyKey: "required",
      }),
    )
    .get(
      "/:id/slow",
      async ({ box }) => {
        slow.arrived();
        await slow.mayEnd;
        return box;
      },
      operation({ summary: "Wait for box", access: "read", ...shown, path: boxPath }),
    )
    .get(
      "/:id/:trouble",
      ({ params }) => fail(params.trouble),
      operation({ summary: "Fail", access: "any", ...shown, path: { ...boxPath, trouble } }),
    );
}

const trouble = { description: "What goes wrong", example: "bug" };
const boxPath = { id: { description: "Id of the box", example: "1" } };

function fail(kind: string): { id: string; size: number } {
  switch (kind) {
    case "bug":
      throw new TypeError("canary-bug");
    case "string":
      throw "canary-string";
    case "query":
      throw Object.assign(new Error("Failed query: select $1\nparams: canary-parameter"), {
        query: "select $1",
        params: ["canary-parameter"],
        cause: Object.assign(new Error("duplicate key"), { code: "23505", detail: "Key (a)=(canary-detail)" }),
      });
    case "schema":
      return { id: "canary-value", size: "canary-size" as unknown as number };
    case "away":
      throw new DatabaseUnavailable("canary-host:5432 refused");
    case "wrapped-away":
      throw new Error("Failed query", { cause: new DatabaseUnavailable("canary-host") });
    case "limit":
      throw new Refusal("daily_limit_exceeded", "Cannot send: 200 messages have gone today", {
        extra: { limit: 200, used: 200, resets_at: "2026-03-22T00:00:00.000Z" },
        retryAfterSeconds: 0.2,
        headers: { ratelimit: '"daily";r=0;t=1' },
      });
    default:
      throw notFound("message");
  }
}
