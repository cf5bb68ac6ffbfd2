import { type AnyElysia, Elysia } from "elysia";
import type { Logger } from "pino";
import type { Actor } from "../../domain/access/actor.ts";
import type { Operator } from "../../domain/access/operator.ts";
import type { Closure } from "../../domain/access/suspension.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { type Asked, actorOf } from "./actor.ts";
import {
  type Account,
  type AuthenticateStream,
  authenticatedCaller,
  authenticatedStream,
  bearerKey,
  eventStreamPath,
  operatorOf,
  socketPath,
} from "./auth.ts";
import { type BodyLimits, defaultBodyLimits, inboundPath, refuseDeclaredTooLarge } from "./body.ts";
import { type Described, docs, docsRedirects } from "./docs.ts";
import { problemOf, refusalOf, unavailable } from "./errors.ts";
import { favicon } from "./favicon.ts";
import { type HealthDeps, health } from "./health.ts";
import { loggablePath } from "./loggable.ts";
import { requestId, requestIdHeader } from "./request-headers.ts";
import { isStreamed } from "./streamed-body.ts";

export interface HttpDeps extends HealthDeps, Described, AuthenticateStream {
  /** Notes that an operator acts in an account. */
  noteActed?: (actor: Actor, accountId: string, route: string) => Promise<void>;
  /** The suspension of an account by the operator, or its deletion. */
  closureOf?: (accountId: string) => Closure | undefined;
  /** Whether a credential is INGEST_TOKEN, which needs no account. */
  isIngestToken?: ((credential: string) => boolean) | undefined;
  newRequestId(): string;
  log: Logger;
  bodyLimits?: BodyLimits;
}

export interface Plugins {
  /** Routes that need a key. `api(prefix, tag)` makes them. */
  guarded: readonly AnyElysia[];
  /** Routes that need no key, or that check the caller themselves, for example by a signed URL. */
  open?: readonly AnyElysia[];
}

/**
 * The HTTP app, with everything that applies to every request. The checks run in the order of contract §2: first whether
 * the service takes the request at all (its declared length, a shutdown), then the key, the route, the resource and the
 * body.
 */
export function httpApp(deps: HttpDeps, { guarded, open = [] }: Plugins): AnyElysia {
  const bodyLimits = deps.bodyLimits ?? defaultBodyLimits;
  const described = [health(deps), ...open, ...guarded];

  const shell = new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .decorate("bodyLimits", bodyLimits)
    .onError({ as: "global" }, ({ error, request, path, set }) => {
      const id = String(set.headers[requestIdHeader]);
      const refusal = refusalOf({ error, method: request.method, path, request_id: id }, deps.log);
      const { status, headers, body } = problemOf(refusal, path, id, request.headers.get("accept"));
      set.status = status;
      Object.assign(set.headers, headers);
      return body;
    })
    .onRequest(({ request, set }) => {
      set.headers[requestIdHeader] = requestId(request.headers.get(requestIdHeader), deps.newRequestId);
      if (!isStreamed(request)) refuseDeclaredTooLarge(request, bodyLimits);
    })
    .use(accessLog(deps.log))
    .use(docs(described, deps))
    .use(docsRedirects())
    .use(favicon());

  const app: AnyElysia = shell;
  const routes = () => app.routes;
  app.use(mountedTogether([health(deps), ...open])).use(noSuchRoute("/*", routes));
  app.use(guard(deps)).use(mountedTogether(guarded)).use(noSuchRoute("/v1", routes)).use(noSuchRoute("/v1/*", routes));
  return app;
}

/** Fields that the guard adds to the context of every route that is mounted after it. */
export type Guarded = {
  account: Account;
  /** The caller as the audit names it. */
  actor: Actor;
  /** The suspension of the account by the operator at this instant. Undefined without an account. */
  closureNow: (() => Closure | undefined) | undefined;
  requestId: string;
};

export const adminPath = "/v1/admin";

type Nothing = Record<never, never>;

/**
 * Makes the plugin of a resource. It must be mounted after the guard, which gives its routes the fields of `Guarded`.
 */
export function api<const Prefix extends string>(prefix: Prefix, tag: string) {
  return new Elysia<Prefix, { decorator: Nothing; store: Nothing; derive: Guarded; resolve: Nothing }>({
    prefix,
    tags: [tag],
  });
}

/** Checks the key before every route that is mounted after it. */
function guard(deps: HttpDeps) {
  return new Elysia().derive({ as: "global" }, async ({ request, path, route, set }): Promise<Guarded> => {
    if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
    const isOfOperators = path === adminPath || path.startsWith(`${adminPath}/`);
    const operator = isOfOperators ? await operatorOf(request, deps) : undefined;
    if (operator !== undefined) return guardedOperator(operator, { request, set }, deps);
    if (path === inboundPath && deps.isIngestToken?.(bearerKey(request.headers.get("authorization")))) {
      return guardedIngest({ request, set }, deps);
    }
    const account = await (path === eventStreamPath || path === socketPath
      ? authenticatedStream(request, deps)
      : authenticatedCaller(request, deps));
    // For all other keys these paths do not exist.
    if (isOfOperators) throw notFound("route");
    const actor = actorOf(account, { request, set }, deps.trustedProxies);
    if (account.kind === "operator") await deps.noteActed?.(actor, account.id, `${request.method} ${route}`);
    const closureNow = () => deps.closureOf?.(account.id);
    return { account, actor, closureNow, requestId: String(set.headers[requestIdHeader]) };
  });
}

/** The context of an operator's own request, which is in no account. */
function guardedOperator({ id }: Operator, asked: Asked, { trustedProxies }: HttpDeps): Guarded {
  const actor = actorOf({ keyId: id, kind: "operator" }, asked, trustedProxies);
  return { ...none, actor, requestId: String(asked.set.headers[requestIdHeader]) };
}

/** The context of a request with INGEST_TOKEN, which is in no account. */
function guardedIngest(asked: Asked, { trustedProxies }: HttpDeps): Guarded {
  const actor = actorOf({ keyId: "ingest", kind: "key" }, asked, trustedProxies);
  return { ...none, actor, requestId: String(asked.set.headers[requestIdHeader]) };
}

/** Such a request has no account, and its operation reads none. */
const none = { account: undefined as unknown as Account, closureNow: undefined };

/** Logs one line for each request at level debug. At other levels it installs no hook. */
function accessLog(log: Logger) {
  const app = new Elysia();
  if (!log.isLevelEnabled("debug")) return app;
  return app.onAfterResponse({ as: "global" }, ({ request, path, set }) => {
    log.debug(
      {
        request_id: set.headers[requestIdHeader],
        method: request.method,
        path: loggablePath(path),
        status: Number(set.status ?? 200),
      },
      "request answered",
    );
  });
}

function mountedTogether(plugins: readonly AnyElysia[]): AnyElysia {
  return plugins.reduce((app, plugin) => app.use(plugin), new Elysia() as AnyElysia);
}

/**
 * Answers requests that match no route: 404 if the path is unknown, 405 if it has other methods, 204 to OPTIONS. Under
 * /v1 it is mounted after the guard, so that a caller without a key learns nothing about routes.
 */
function noSuchRoute(pattern: string, routes: () => readonly Route[]) {
  return new Elysia().all(
    pattern,
    ({ path, request, set }) => {
      const methods = methodsOf(path, routes());
      if (methods.length === 0) throw notFound("route");
      const allow = methods.join(", ");
      set.headers.allow = allow;
      if (request.method !== "OPTIONS") {
        throw new Refusal("method_not_allowed", `Cannot do this: the methods here are ${allow}`);
      }
      set.status = 204;
    },
    { parse: "none", detail: { hide: true } },
  );
}

interface Route {
  method: string;
  path: string;
}

/** The methods of a path, for `Allow`. Called only if no route matched, so it may be slow. */
function methodsOf(path: string, routes: readonly Route[]): string[] {
  const segments = path.split("/");
  const methods = routes.filter((route) => route.method !== "ALL" && matches(route.path.split("/"), segments));
  if (methods.length === 0) return [];
  const known = new Set(methods.map((route) => route.method));
  if (known.has("GET")) known.add("HEAD");
  return [...known.add("OPTIONS")].sort();
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((part, index) => (part.startsWith(":") ? segments[index] !== "" : part === segments[index]));
}
