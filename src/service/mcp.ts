import type { Fetch } from "../../sdk/typescript/src/options.ts";
import type { McpDeps } from "../http/routes/mcp.ts";
import { notePeer, peerOf } from "../http/shell/client-address.ts";
import type { Fetching } from "../http/shell/timed-app.ts";
import { isLoopbackHost } from "../standards/host-name.ts";
import { version } from "../version.ts";
import type { Opening } from "./opening.ts";

interface McpParts {
  door: Pick<McpDeps, "authenticate" | "isDraining">;
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
  { door, baseUrl, app }: McpParts,
): McpDeps {
  const { authenticate, isDraining } = door;
  return {
    ...deps,
    authenticate,
    isDraining,
    baseUrl,
    version,
    observe: watch.toolCall,
    apiFor: (request) => askOf(app(), request),
    allowedOrigins: config.mcpOrigins,
    isLoopback: isLoopbackHost(config.host.includes(":") ? `[${config.host}]` : config.host),
  };
}
