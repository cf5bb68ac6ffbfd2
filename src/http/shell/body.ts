import { Refusal } from "../../domain/errors.ts";
import { within } from "../../primitives/within.ts";

export interface BodyLimits {
  maxBytes: number;
  /** How long a body may take to arrive: an idle time-out alone would let one byte a second go on for weeks. */
  timeoutMs: number;
}

export const defaultBodyLimits: BodyLimits = { maxBytes: 2_000_000, timeoutMs: 60_000 };

export const relayNoticesPath = "/v1/relay-notices";
export const relayNoticesLimits: BodyLimits = { maxBytes: 2 << 20, timeoutMs: 60_000 };

/** Paths that take more than others. */
const largeBodies: ReadonlyMap<string, BodyLimits> = new Map([[relayNoticesPath, relayNoticesLimits]]);

/** The bytes of a JSON body, unread of their meaning: refuses other kinds (415) and what is too large (413). */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const mediaType = request.headers.get("content-type");
  if (mediaType !== null && !isJson(mediaType)) throw notJson();
  const bytes = await readBodyOfAnyType(request, limits);
  if (mediaType === null && bytes.length > 0) throw notJson();
  return bytes;
}

/** The same whatever type it is said to be of: some call JSON plain text. */
export async function readBodyOfAnyType(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  refuseEncoded(request);
  refuseDeclaredTooLarge(request, limits);
  return readBytes(request, limits);
}

/** Refuses a body that says it is compressed: nobody here would decompress it. */
export function refuseEncoded(request: Request): void {
  const encoding = request.headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  throw new Refusal("unsupported_media_type", "Cannot read body: it must come without a Content-Encoding");
}

/** Whether a request brings a body where none is asked for. A GET may have one that means nothing (RFC 9110 §9.3.1). */
export function bringsBody({ method, headers }: Request): boolean {
  if (method === "GET" || method === "HEAD") return false;
  return headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
}

/** The value of a JSON body, `undefined` where there is none. */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const value = parse(bytes);
  if (isDeeperThan(value, maxDepth)) throw invalidJson(`it is nested more than ${maxDepth} levels deep`);
  return value;
}

/** Refuses a body by its declared length alone, before a byte of it is read. */
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
 * Level by level instead of by recursion: a body of brackets alone is a million levels deep, and whoever walks
 * it later (a fingerprint, a log line) would overflow the stack.
 */
function isDeeperThan(value: unknown, limit: number): boolean {
  let level = [value];
  for (let depth = 0; depth <= limit; depth += 1) {
    const next: unknown[] = [];
    for (const node of level) {
      if (typeof node !== "object" || node === null) continue;
      // Object.values of an array makes a string of every index: a second for a million numbers.
      const children = Array.isArray(node) ? node : Object.values(node);
      for (const child of children) if (typeof child === "object" && child !== null) next.push(child);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}

/** `application/json` or a `+json` type; a charset, where one is named, must be UTF-8 (RFC 8259 §8.1). */
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

/** A chunked body declares no length, so it is counted while it arrives. */
async function countedBytes(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // What comes behind is thrown away later, where the connection ends.
  for await (const part of request.body?.values({ preventCancel: true }) ?? []) {
    size += part.length;
    if (size > limits.maxBytes) throw tooLarge(limits, otherWays(request));
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The connection ends with it: what is left of such a body could not be told from the next request. */
export function tooLarge({ maxBytes }: Pick<BodyLimits, "maxBytes">, otherWays = ""): Refusal {
  return new Refusal("payload_too_large", `Cannot read body: it is larger than ${maxBytes} bytes${otherWays}`, {
    headers: { connection: "close" },
  });
}

/** How else the files come that make the JSON of a send so large. */
function otherWays(request: Request): string {
  if (!isSend(request) || isForm(request)) return "";
  return "; larger files come by POST /v1/uploads, or in a body of multipart/form-data";
}

function notJson(): Refusal {
  return new Refusal("unsupported_media_type", "Cannot read body: its Content-Type must be application/json in UTF-8");
}
