import type { OAuthFault } from "../../domain/connect/authorization.ts";
import { readBodyOfAnyType } from "../shell/body.ts";

export interface Answering {
  status?: number | string;
  headers: Record<string, string | number>;
}

/**
 * The headers of what pages of all origins may use: no cookie counts there, and a program has to find its server from any page.
 */
export const forAllOrigins = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, POST, OPTIONS",
  "access-control-allow-headers": "Authorization, Content-Type, MCP-Protocol-Version",
  "access-control-max-age": "7200",
};

export const notStored = { "cache-control": "no-store", pragma: "no-cache" };

/** Answers an error as OAuth says (RFC 6749 §5.2). */
export function answerFault(set: Answering, { error, description }: OAuthFault, status = 400) {
  set.status = status;
  Object.assign(set.headers, notStored);
  return { error, error_description: description };
}

const limits = { maxBytes: 16_384, timeoutMs: 10_000 };

/** Reads a form. A text is its fault. */
export async function readFields(request: Request): Promise<URLSearchParams | string> {
  const [type = ""] = (request.headers.get("content-type") ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/x-www-form-urlencoded") return "The body must be application/x-www-form-urlencoded";
  return new URLSearchParams(Buffer.from(await readBodyOfAnyType(request, limits)).toString());
}

export { limits as formLimits };
