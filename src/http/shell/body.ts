import { Refusal } from "../../domain/errors.ts";
import { within } from "../../primitives/within.ts";

export interface BodyLimits {
  maxBytes: number;
  /** How long a whole body may take. With an idle time-out alone, a client could send one byte a second for weeks. */
  timeoutMs: number;
}

export const defaultBodyLimits: BodyLimits = { maxBytes: 2_000_000, timeoutMs: 60_000 };

export const inboundPath = "/v1/inbound";

export const relayNoticesPath = "/v1/relay-notices";
export const relayNoticesLimits: BodyLimits = { maxBytes: 2 << 20, timeoutMs: 60_000 };

/** Paths that have larger limits. */
const largeBodies: ReadonlyMap<string, BodyLimits> = new Map([[relayNoticesPath, relayNoticesLimits]]);

/** Reads the bytes of a JSON body. Throws 415 for other types and 413 if it is too large. */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const mediaType = request.headers.get("content-type");
  if (mediaType !== null && !isJson(mediaType)) throw notJson();
  const bytes = await readBodyOfAnyType(request, limits);
  if (mediaType === null && bytes.length > 0) throw notJson();
  return bytes;
}

/** Reads a body like `readBody`, but of any Content-Type, because some relays send JSON as plain text. */
export async function readBodyOfAnyType(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  refuseEncoded(request);
  refuseDeclaredTooLarge(request, limits);
  return readBytes(request, limits);
}

/** Throws if the body is compressed, because nothing here decompresses it. */
export function refuseEncoded(request: Request): void {
  const encoding = request.headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new Refusal("unsupported_media_type", "Cannot read body: it must come without a Content-Encoding");
}

/** Whether a request has a body. The body of a GET has no meaning (RFC 9110 §9.3.1), so it does not count. */
export function hasBody({ method, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}

/** Parses a JSON body. Undefined if it is empty. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const value = parse(bytes);
  if (isDeeperThan(value, maxDepth)) throw invalidJson(`it is nested more than ${maxDepth} levels deep`);
  return value;
}

/** Throws if the declared length is too large, before any byte is read. */
export function refuseDeclaredTooLarge(request: Request, limits: Pick<BodyLimits, "maxBytes">): void {
  const declared = request.headers.get("content-length");
  if (declared === null || Number(declared) <= limits.maxBytes) return;
  const own = largeBodies.get(new URL(request.url).pathname);
  if (own === undefined || Number(declared) > own.maxBytes) throw tooLarge(own ?? limits, otherWays(request));
}

export function isSend(request: Request): boolean {
  const [path = ""] = request.url.split("?", 1);
  return request.method === "POST" && path.endsWith("/send");
}

export function isForm(request: Request): boolean {
  return /^multipart\/form-data *(?:;|$)/i.test(request.headers.get("content-type") ?? "");
}

export function invalidJson(why: string, headers: Record<string, string> = {}): Refusal {
  return new Refusal("invalid_json", `Cannot read body: ${why}`, {
    faults: [{ pointer: "#", detail: "must be one JSON value in UTF-8" }],
    headers,
  });
}

const maxDepth = 64;
const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw invalidJson("it is not valid JSON in UTF-8");
  }
}

/**
 * Whether a value is nested deeper than `limit`. Checks level by level, without recursion. A body of brackets can be a
 * million levels deep, and code that walks it later (a fingerprint, a log line) would overflow the stack.
 */
function isDeeperThan(value: unknown, limit: number): boolean {
  let level = [value];
  for (let depth = 0; depth <= limit; depth += 1) {
    const next: unknown[] = [];
    for (const node of level) {
      if (typeof node !== "object" || node === null) continue;
      // Object.values makes a string of every index of an array, which takes a second for a million numbers.
      const children = Array.isArray(node) ? node : Object.values(node);
      for (const child of children) if (typeof child === "object" && child !== null) next.push(child);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}

/** Accepts `application/json` and `+json` types. The charset, if there is one, must be UTF-8 (RFC 8259 §8.1). */
function isJson(mediaType: string): boolean {
  const [type = "", ...parameters] = mediaType.toLowerCase().split(";");
  if (!jsonType.test(type.trim())) return false;
  return parameters.every((parameter) => {
    const [name = "", value = ""] = parameter.split("=");
    return name.trim() !== "charset" || /^"?utf-?8"?$/.test(value.trim());
  });
}

const jsonType = /^(application\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+\+json)$/;

async function readBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const bytes = request.headers.has("content-length") ? request.bytes() : countedBytes(request, limits);
  try {
    return await within(limits.timeoutMs, bytes, () => {
      throw invalidJson(`it did not arrive whole within ${limits.timeoutMs / 1000} seconds`, { connection: "close" });
    });
  } catch (error) {
    throw error instanceof Refusal ? error : invalidJson("it ended too early");
  }
}

/** Reads a chunked body. Its bytes are counted while it arrives, because it declares no length. */
async function countedBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // Does not cancel the body after an error: server.ts reads and drops the rest before it sends the answer.
  for await (const part of request.body?.values({ preventCancel: true }) ?? []) {
    size += part.length;
    if (size > limits.maxBytes) throw tooLarge(limits, otherWays(request));
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * The refusal of a body that is too large. It closes the connection, because the rest of the body would look like a
 * request.
 */
export function tooLarge({ maxBytes }: Pick<BodyLimits, "maxBytes">, otherWays = ""): Refusal {
  return new Refusal("payload_too_large", `Cannot read body: it is larger than ${maxBytes} bytes${otherWays}`, {
    headers: { connection: "close" },
  });
}

/** Names the other ways to send files, if the request is a send in JSON. */
function otherWays(request: Request): string {
  if (!isSend(request) || isForm(request)) return "";
  return "; larger files come by POST /v1/uploads, or in a body of multipart/form-data";
}

function notJson(): Refusal {
  return new Refusal("unsupported_media_type", "Cannot read body: its Content-Type must be application/json in UTF-8");
}
