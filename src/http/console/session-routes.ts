import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { consoleSeconds, tokenEnd } from "../../domain/access/token.ts";
import type { AccessTokens } from "../../flows/account/access-tokens.ts";
import type { Authenticator } from "../../flows/account/authenticate.ts";
import { bodyJudge } from "../judging/faults.ts";
import { accountOf } from "../shell/auth.ts";
import { parseJson, readBody } from "../shell/body.ts";
import { unavailable } from "../shell/errors.ts";
import { text } from "../shell/models.ts";
import type { SessionDoor } from "./session.ts";

export interface ConsoleSessionDeps {
  session: SessionDoor;
  keys: Pick<Authenticator, "authenticateSignIn">;
  tokens: Pick<AccessTokens, "writeForConsole">;
  isDraining(): boolean;
  now(): Date;
}

const NewSession = Type.Object(
  { key: text({ min: 1, max: 512, description: "An API key, or the token of a link to sign in by" }) },
  { description: "Who signs in" },
);

const needed = "a valid API key is needed, or a link to sign in by that is not older than five minutes";

const limits = { maxBytes: 4096, timeoutMs: 10_000 };

/**
 * A browser gets its session here for a key, or for the token of a link. Nothing is stored: the session is a token of that key, so any
 * process takes it, and it is gone with the key. Mounted open, and no part of the API: programs have the key itself.
 */
export function consoleSession(deps: ConsoleSessionDeps) {
  const judge = bodyJudge(NewSession, "sign in");
  return new Elysia({ prefix: "/console/session" })
    .post(
      "",
      async ({ request, set }) => {
        if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
        deps.session.refuseForeign(request);
        const { key } = judge(parseJson(await readBody(request, limits)) ?? null);
        const { keyId } = await accountOf(key, deps.keys.authenticateSignIn, needed);
        const expiresAt = tokenEnd(deps.now(), consoleSeconds.console);
        const token = await deps.tokens.writeForConsole({ keyId, purpose: "console", expiresAt });
        Object.assign(set.headers, { "set-cookie": deps.session.cookie(token, consoleSeconds.console), ...unkept });
        set.status = 204;
      },
      hidden,
    )
    .delete(
      "",
      ({ request, set }) => {
        deps.session.refuseForeign(request);
        Object.assign(set.headers, { "set-cookie": deps.session.cookie("", 0), ...unkept });
        set.status = 204;
      },
      hidden,
    );
}

const hidden = { parse: "none" as const, detail: { hide: true } };
const unkept = { "cache-control": "no-store" };
