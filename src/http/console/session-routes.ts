import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Caller } from "../../domain/access/access.ts";
import { consoleSeconds } from "../../domain/access/token.ts";
import type { Fault } from "../../domain/errors.ts";
import type { Authenticator } from "../../flows/account/authenticate.ts";
import { endSession, newSession, type SessionDeps, useSignInLink } from "../../flows/account/sign-in.ts";
import { bodyJudge, readAsTheyAre } from "../judging/faults.ts";
import { actorOf } from "../shell/actor.ts";
import { accountOf, fromAllowedAddress, unauthorized } from "../shell/auth.ts";
import { parseJson, readBody } from "../shell/body.ts";
import { unavailable } from "../shell/errors.ts";
import { text } from "../shell/models.ts";
import type { SessionDoor } from "./session.ts";

export interface ConsoleSessionDeps extends SessionDeps {
  session: SessionDoor;
  keys: Pick<Authenticator, "authenticateKey" | "authenticateLink">;
  trustedProxies?: readonly string[];
  isDraining(): boolean;
}

const NewSession = Type.Object(
  {
    key: Type.Optional(text({ min: 1, max: 512, description: "An API key, from the form" })),
    link: Type.Optional(text({ min: 1, max: 512, description: "The token of a sign-in link" })),
    confirm: Type.Optional(Type.Boolean({ description: "With `link`: replaces the current session" })),
  },
  { description: "Who signs in" },
);

function faultsBetween(fields: Readonly<Record<string, unknown>>): readonly Fault[] {
  if ((fields.key === undefined) !== (fields.link === undefined)) {
    const isStray = fields.key !== undefined && fields.confirm !== undefined;
    return isStray ? [{ pointer: "#/confirm", detail: "is allowed only with a link" }] : [];
  }
  return [{ pointer: "#/key", detail: "is required, or a link instead; not both" }];
}

const keyNeeded = "a valid API key is needed";
const linkNeeded = "the sign-in link is invalid, was already used, or is older than five minutes";

const limits = { maxBytes: 4096, timeoutMs: 10_000 };

/**
 * Gives a browser a session for a key or a sign-in link. A session is a token of the key and is not stored, so every
 * process accepts it, and it becomes invalid when the key is revoked. The routes are mounted without the guard of the
 * API, and are not part of the API, because programs use the key itself.
 */
export function consoleSession(deps: ConsoleSessionDeps) {
  const judge = bodyJudge(NewSession, "sign in", readAsTheyAre<Static<typeof NewSession>>(faultsBetween));

  async function holderOfLink(request: Request, token: string, isConfirmed: boolean): Promise<Caller> {
    const holder = await deps.keys.authenticateLink(token);
    if (holder === undefined) throw unauthorized(linkNeeded);
    const current = await deps.session.authenticateSession(request);
    if (!(await useSignInLink(deps, { holder, current, isConfirmed }))) throw unauthorized(linkNeeded);
    return holder;
  }

  return new Elysia({ prefix: "/console/session" })
    .post(
      "",
      async ({ request, set }) => {
        if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
        deps.session.refuseForeign(request);
        const { key = "", link, confirm = false } = judge(parseJson(await readBody(request, limits)) ?? null);
        const holder =
          link === undefined
            ? await accountOf(key, deps.keys.authenticateKey, keyNeeded)
            : await holderOfLink(request, link, confirm);
        fromAllowedAddress(holder, request, deps, link === undefined ? keyNeeded : linkNeeded);
        const token = await newSession(deps, holder, actorOf(holder, { request, set }, deps.trustedProxies));
        Object.assign(set.headers, { "set-cookie": deps.session.cookie(token, consoleSeconds.console), ...notStored });
        set.status = 204;
      },
      hidden,
    )
    .delete(
      "",
      async ({ request, set }) => {
        deps.session.refuseForeign(request);
        // The cookie is deleted also if the database is away.
        Object.assign(set.headers, { "set-cookie": deps.session.cookie("", 0), ...notStored });
        const holder = await deps.session.authenticateSession(request);
        if (holder !== undefined)
          await endSession(deps, holder, actorOf(holder, { request, set }, deps.trustedProxies));
        set.status = 204;
      },
      hidden,
    );
}

const hidden = { parse: "none" as const, detail: { hide: true } };
const notStored = { "cache-control": "no-store" };
