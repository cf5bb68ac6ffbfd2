import { type AnyElysia, Elysia } from "elysia";
import { notFound } from "../../domain/errors.ts";
import { unavailable } from "../shell/errors.ts";
import { isSafeForSignIn, resourceMetadataPath } from "./addresses.ts";
import { type AuthorizeDeps, authorizeRoutes } from "./authorize-routes.ts";
import { resourceMetadata, serverMetadata } from "./metadata.ts";
import { forAllOrigins } from "./open-door.ts";
import { type TokenRoutesDeps, tokenRoutes } from "./token-routes.ts";

export interface ConnectDeps extends AuthorizeDeps, TokenRoutesDeps {
  isDraining(): boolean;
}

const hidden = { detail: { hide: true } };

const serverMetadataPaths = [
  "/.well-known/oauth-authorization-server/oauth",
  "/.well-known/openid-configuration/oauth",
  "/oauth/.well-known/oauth-authorization-server",
  "/oauth/.well-known/openid-configuration",
];

/**
 * Sign-in for clients of MCP that cannot be given a key: OAuth 2.1 with a page for the person's consent. There is none where browsers
 * keep no session: at an address that is neither https nor on this machine.
 */
export function connect(deps: ConnectDeps): AnyElysia {
  const open = () => {
    if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
    if (!isSafeForSignIn(deps.baseUrl())) throw notFound("route");
  };
  const app = new Elysia().onBeforeHandle(open);
  const metadata = (path: string, make: (baseUrl: string) => object) => {
    app
      .get(
        path,
        ({ set }) => {
          Object.assign(set.headers, forAllOrigins, { "cache-control": "max-age=300" });
          return make(deps.baseUrl());
        },
        hidden,
      )
      .options(path, ({ set }) => preflight(set), hidden);
  };
  metadata(resourceMetadataPath, resourceMetadata);
  for (const path of serverMetadataPaths) metadata(path, serverMetadata);
  for (const path of ["token", "revoke", "register"])
    app.options(`/oauth/${path}`, ({ set }) => preflight(set), hidden);
  return app.use(tokenRoutes(deps)).use(authorizeRoutes(deps));
}

function preflight(set: { status?: number | string; headers: Record<string, string | number> }): void {
  set.status = 204;
  Object.assign(set.headers, forAllOrigins);
}
