import { isCleanText } from "../../standards/text.ts";
import { hostOfRedirectUri, isRedirectUri } from "./redirect-uri.ts";

/** A program that asks people for access: a client of OAuth. */
export interface Client {
  /** The id of its registration, or the address of its metadata document. */
  id: string;
  /** The name that it gives itself. Nobody checks it. */
  name: string;
  redirectUris: readonly string[];
}

/** The metadata of a client, as a registration (RFC 7591) or a metadata document has it. A text is the fault. */
export type ClientMetadata = Omit<Client, "id">;

export const longestClientName = 100;

/** Reads the metadata of a client. Fields that have no meaning here are ignored. */
export function clientMetadata(value: unknown): ClientMetadata | string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "it must be a JSON object";
  const { redirect_uris: redirectUris, client_name: name } = value as Record<string, unknown>;
  if (!Array.isArray(redirectUris) || redirectUris.length === 0 || redirectUris.length > 20)
    return "`redirect_uris` must be an array of 1 to 20 addresses";
  const wrong = redirectUris.find((each) => typeof each !== "string" || !isRedirectUri(each));
  if (wrong !== undefined)
    return "each of `redirect_uris` must be an https address, an http address of this machine, or one with the scheme of a program, without a fragment";
  if (name !== undefined && !isName(name))
    return `\`client_name\` must be 1 to ${longestClientName} characters on one line`;
  return { name: name ?? hostOfRedirectUri(redirectUris[0]), redirectUris };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "" && value.length <= longestClientName && isCleanText(value);
}

/** Whether a client id is the address of a metadata document: https, with a path, and spelled in one way only. */
export function isDocumentAddress(clientId: string, allowHttp: boolean): boolean {
  const url = clientId.length <= 500 ? URL.parse(clientId) : null;
  if (url === null || url.href !== clientId || url.pathname === "/" || url.hash !== "") return false;
  if (url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (allowHttp && url.protocol === "http:");
}
