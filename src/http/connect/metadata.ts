import { scopeOf } from "../../domain/connect/authorization.ts";
import { issuerOf, resourceOf } from "./addresses.ts";

export const scopes = scopeOf.agent.split(" ");

/** The metadata of `/mcp/connect` (RFC 9728). */
export function resourceMetadata(baseUrl: string) {
  return {
    resource: resourceOf(baseUrl),
    authorization_servers: [issuerOf(baseUrl)],
    scopes_supported: scopes,
    bearer_methods_supported: ["header"],
    resource_name: "inboxd",
  };
}

/** The metadata of the authorization server (RFC 8414). */
export function serverMetadata(baseUrl: string) {
  const issuer = issuerOf(baseUrl);
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    revocation_endpoint: `${issuer}/revoke`,
    registration_endpoint: `${issuer}/register`,
    scopes_supported: scopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}
