import { InboxdError, noAnswer, refusal, unreadableAnswer } from "./errors.ts";
import { controllerWith, type Machine } from "./machine.ts";
import { baseOf, credentialOf, type Fetch, type InboxdOptions } from "./options.ts";
import { isRepeatable, waitMs } from "./retries.ts";

/** The options that every call takes. */
export interface CallOptions {
  /** Ends the call, which then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  /** Identifies the call: the service does it once, however often it arrives. */
  idempotencyKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Called with the status and the headers of each response, before its body is read. */
  onResponse?: ((response: Pick<Response, "status" | "headers">) => void) | undefined;
}

export interface Call extends CallOptions {
  method: string;
  /** The path as the OpenAPI document writes it, with the names of its parameters in braces. */
  path: string;
  parameters?: object | undefined;
  query?: object;
  body?: unknown;
  retries?: number;
  /** The time that the service may spend on the call by design, added to the time-out. */
  serverWaitMs?: number;
  /** Whether the call does no harm if it arrives twice, though its method and its key do not say so. */
  isRepeatable?: boolean;
}

export interface Caller {
  /** The content of the response: a file as bytes, JSON as its value, a page as text. Throws an `InboxdError` for any failure. */
  call(call: Call): Promise<unknown>;
  addressOf(call: Pick<Call, "path" | "parameters" | "query">): string;
  readonly baseUrl: string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
}

export function caller(options: InboxdOptions, { random, pause }: Machine): Caller {
  const baseUrl = baseOf(options);
  const credential = credentialOf(options);
  const headers = given({ authorization: credential && `Bearer ${credential}`, ...options.headers });
  // Wrapped, because browsers refuse a `fetch` that is called as a method of another object.
  const send: Fetch = options.fetch ?? ((url, init) => fetch(url, init));

  const addressOf: Caller["addressOf"] = ({ path, parameters = {}, query = {} }) => {
    const encoded = String(new URLSearchParams(given(query)));
    return baseUrl + filled(path, parameters) + (encoded && `?${encoded}`);
  };

  async function attempt(call: Call): Promise<unknown> {
    const { method, path, body, idempotencyKey } = call;
    const ms = (call.timeoutMs ?? options.timeoutMs ?? 30_000) + (call.serverWaitMs ?? 0);
    const controller = controllerWith(call.signal);
    const timer = setTimeout(() => controller.abort(new Error(`it took longer than ${ms / 1000} s`)), ms);
    const operation = { name: `${method} ${path}`, baseUrl };
    let response: Response | undefined;
    try {
      const isJson = body !== undefined && !isRaw(body);
      response = await send(addressOf(call), {
        method,
        headers: given({
          ...headers,
          "content-type": isJson ? "application/json" : undefined,
          "idempotency-key": idempotencyKey,
          ...call.headers,
        }),
        body: (isJson ? JSON.stringify(body) : body) as BodyInit,
        // `fetch` takes a stream only if the response may not come before its end.
        ...(body instanceof ReadableStream && { duplex: "half" }),
        signal: controller.signal,
      });
      call.onResponse?.(response);
      if (!response.ok) throw refusal(operation, response, await response.text());
      return await contentOf(path, response);
    } catch (error) {
      if (error instanceof InboxdError) throw error;
      if (call.signal?.aborted) throw call.signal.reason;
      if (response !== undefined && error instanceof SyntaxError) throw unreadableAnswer(operation, response, error);
      throw noAnswer(operation, controller.signal.aborted ? controller.signal.reason : error);
    } finally {
      clearTimeout(timer);
      controller.release();
    }
  }

  return {
    async call(call) {
      // Throws for a wrong parameter before the `try`, so that it does not look like a failure of the network.
      addressOf(call);
      const most =
        call.isRepeatable || isRepeatable(call.method, call.idempotencyKey)
          ? (call.retries ?? options.retries ?? 3)
          : 0;
      for (let retries = 0, waitedMs = 0; ; retries += 1) {
        call.signal?.throwIfAborted();
        try {
          return await attempt(call);
        } catch (error) {
          if (!(error instanceof InboxdError)) throw error;
          // An earlier attempt has deleted the resource, and only its response was lost.
          if (call.method === "DELETE" && retries > 0 && error.status === 404) return undefined;
          if (retries >= most) throw error;
          const ms = waitMs({ error, retries, waitedMs }, random);
          if (ms === undefined) throw error;
          if (error.retryAfterSeconds === undefined) waitedMs += ms;
          await pause(ms, call.signal);
        }
      }
    },
    addressOf,
    baseUrl,
    fetch: send,
    headers,
  };
}

/**
 * The content of a response of 2xx. A stranger chose the type of a file, so its bytes are returned unchanged for any type. Throws a
 * `SyntaxError` if the content should be JSON and is not, such as the page of a proxy.
 */
async function contentOf(path: string, response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  if (/\/export$/.test(path)) return response.body;
  if (/\/(raw|\{filename\})$/.test(path)) return new Uint8Array(await response.arrayBuffer());
  if (/\/(docs|html|zone|\{token\})$/.test(path)) return response.text();
  const type = response.headers.get("content-type") ?? "no type";
  if (/[/+]json\b/.test(type)) return response.json();
  throw new SyntaxError(`answered ${response.status} with ${type} instead of JSON`);
}

/** Fills the parameters into the path. Throws if one is empty, "." or "..", because the path would become another one. */
function filled(path: string, parameters: object): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = (parameters as Record<string, unknown>)[name];
    if (typeof value !== "string" || /^\.{0,2}$/.test(value)) {
      throw new TypeError(`Cannot call ${path}: "${name}" is ${value === undefined ? "missing" : "not an id"}`);
    }
    return encodeURIComponent(value);
  });
}

/** The fields that have a value. `URLSearchParams` joins a list with commas. */
function given(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

function isRaw(body: unknown): boolean {
  return [ReadableStream, FormData, Blob, Uint8Array].some((kind) => body instanceof kind);
}
