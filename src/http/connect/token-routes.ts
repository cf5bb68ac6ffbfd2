import { Elysia } from "elysia";
import type { OAuthFault } from "../../domain/connect/authorization.ts";
import { clientMetadata } from "../../domain/connect/client.ts";
import { type ExchangeDeps, type Exchanged, exchange, revokeToken } from "../../flows/connect/exchange.ts";
import { registerClient } from "../../flows/connect/register-client.ts";
import { parseJson, readBody } from "../shell/body.ts";
import { clientAddress } from "../shell/client-address.ts";
import { resourceOf } from "./addresses.ts";
import { answerFault, forAllOrigins, formLimits, notStored, readFields } from "./open-door.ts";

export interface TokenRoutesDeps extends ExchangeDeps {
  baseUrl(): string;
  trustedProxies?: readonly string[] | undefined;
}

const hidden = { parse: "none" as const, detail: { hide: true } };

/** Where programs get their tokens, end them, and register. They are public clients, so nothing here needs a secret of the client. */
export function tokenRoutes(deps: TokenRoutesDeps) {
  return new Elysia({ prefix: "/oauth" })
    .post(
      "/token",
      async ({ request, set }) => {
        Object.assign(set.headers, forAllOrigins, notStored);
        const fields = await readFields(request);
        if (typeof fields === "string") return answerFault(set, { error: "invalid_request", description: fields });
        const asked = exchangedOf(fields, resourceOf(deps.baseUrl()));
        if ("error" in asked) return answerFault(set, asked);
        const tokens = await exchange(deps, asked);
        if ("error" in tokens) return answerFault(set, tokens);
        return {
          access_token: tokens.accessToken,
          token_type: "Bearer",
          expires_in: tokens.expiresInSeconds,
          refresh_token: tokens.refreshToken,
          scope: tokens.scope,
        };
      },
      hidden,
    )
    .post(
      "/revoke",
      async ({ request, set }) => {
        Object.assign(set.headers, forAllOrigins, notStored);
        const fields = await readFields(request);
        if (typeof fields === "string") return answerFault(set, { error: "invalid_request", description: fields });
        const token = fields.get("token");
        if (token === null) return answerFault(set, { error: "invalid_request", description: "token is required" });
        await revokeToken(deps, token);
        return {};
      },
      hidden,
    )
    .post(
      "/register",
      async ({ request, set }) => {
        Object.assign(set.headers, forAllOrigins, notStored);
        const metadata = clientMetadata(parseJson(await readBody(request, formLimits)));
        if (typeof metadata === "string")
          return answerFault(set, { error: "invalid_client_metadata", description: metadata });
        const client = await registerClient(deps, metadata, clientAddress(request, deps.trustedProxies) ?? null);
        if (client === undefined) {
          set.headers["retry-after"] = "3600";
          return answerFault(
            set,
            { error: "temporarily_unavailable", description: "Too many registrations; try again in an hour" },
            429,
          );
        }
        set.status = 201;
        return {
          client_id: client.id,
          client_id_issued_at: Math.floor(client.registeredAt.getTime() / 1000),
          client_name: client.name,
          redirect_uris: client.redirectUris,
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
        };
      },
      hidden,
    );
}

/** The exchange that a form asks for. */
function exchangedOf(fields: URLSearchParams, resource: string): Exchanged | OAuthFault {
  const field = (name: string) => fields.get(name) ?? "";
  const missing = (...names: string[]): OAuthFault | undefined => {
    const wrong = names.find((name) => fields.getAll(name).length !== 1);
    return wrong === undefined ? undefined : { error: "invalid_request", description: `${wrong} is required once` };
  };
  if (fields.has("resource") && field("resource") !== resource)
    return { error: "invalid_target", description: `resource must be ${resource}` };
  const kind = field("grant_type");
  if (kind === "authorization_code") {
    const fault = missing("code", "client_id", "redirect_uri", "code_verifier");
    if (fault !== undefined) return fault;
    const [token, clientId] = [field("code"), field("client_id")];
    return { kind: "code", token, clientId, redirectUri: field("redirect_uri"), verifier: field("code_verifier") };
  }
  if (kind === "refresh_token") {
    const fault = missing("refresh_token", "client_id");
    return fault ?? { kind: "refresh", token: field("refresh_token"), clientId: field("client_id") };
  }
  return { error: "unsupported_grant_type", description: "grant_type must be authorization_code or refresh_token" };
}
