import { isLoopbackHost } from "../../standards/host-name.ts";

export const connectPath = "/mcp/connect";
export const resourceMetadataPath = `/.well-known/oauth-protected-resource${connectPath}`;

/** The address that the tokens of a grant are for. */
export function resourceOf(baseUrl: string): string {
  return `${baseUrl}${connectPath}`;
}

/** The name of the authorization server, by which a client tells servers apart. */
export function issuerOf(baseUrl: string): string {
  return `${baseUrl}/oauth`;
}

/** Whether browsers may sign in at this address: over https, or on this machine. */
export function isSafeForSignIn(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" || isLoopbackHost(hostname);
}
