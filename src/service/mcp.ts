import type { Fetch } from "../../sdk/typescript/src/options.ts";
import { partsOfToken } from "../domain/access/token.ts";
import type { AccessTokens } from "../flows/account/access-tokens.ts";
import type { Authenticator } from "../flows/account/authenticate.ts";
import type { McpDeps } from "../http/routes/mcp.ts";
import { notePeer, peerOf } from "../http/shell/client-address.ts";
import type { Fetching } from "../http/shell/timed-app.ts";
import { isLoopbackHost } from "../standards/host-name.ts";
import { version } from "../version.ts";
import type { Opening } from "./opening.ts";

interface McpParts {
  door: Pick<McpDeps, "isDraining">;
  keys: Pick<Authenticator, "authenticateMcp">;
  tokens: Pick<AccessTokens, "read" | "write">;
  connects: boolean;
  baseUrl: () => string;
  /** The app, which contains the MCP route. Called only after the app is made. */
  app: () => Fetching;
}

/**
 * Makes a `fetch` that passes requests to the app without a socket. The app treats them like requests from outside. They have the peer of
 * `cause`, the request that causes them.
 */
export function askOf(app: Fetching, cause?: Request): Fetch {
  return async (path, init) => {
    const request = new Request(`http://localhost${path}`, init);
    if (cause !== undefined) notePeer(request, () => peerOf(cause));
    return app.fetch(request);
  };
}

export function mcpDeps(
  { config, deps, watch }: Pick<Opening, "config" | "deps" | "watch">,
  { door, keys, tokens, connects, baseUrl, app }: McpParts,
): McpDeps {
  return {
    ...deps,
    authenticate: keys.authenticateMcp,
    isDraining: door.isDraining,
    connects,
    async credentialForTools(credential) {
      const parts = partsOfToken(credential);
      const claims = parts && (await tokens.read(parts, deps.now()));
      return claims?.audience === undefined ? credential : tokens.write({ ...claims, audience: undefined });
    },
    baseUrl,
    version,
    observe: watch.toolCall,
    apiFor: (request) => askOf(app(), request),
    allowedOrigins: config.mcpOrigins,
    isLoopback: isLoopbackHost(config.host.includes(":") ? `[${config.host}]` : config.host),
  };
}
