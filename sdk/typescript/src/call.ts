import { contentOf } from "./answers.ts";
import { InboxdError, noAnswer, refusal } from "./failures.ts";
import type { Machine } from "./machine.ts";
import { baseOf, credentialOf, type Fetch, type InboxdOptions } from "./options.ts";
import { isOwnWait, isRepeatable, waitMs } from "./retries.ts";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call: it then throws what the signal was given as reason. */
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Says which call this is, so that it is done once however often it is asked. */
  idempotencyKey?: string;
  headers?: Record<string, string>;
}

export interface Ask extends CallOptions {
  method: string;
  /** With the names of its parameters in braces. */
  path: string;
  names?: object;
  query?: object;
  body?: unknown;
  retries?: number;
  /** For so long the service may think about it, beside what any answer may take. */
  thinksMs?: number;
}

export interface Caller {
  /** What is answered: a file as its bytes, JSON as its value, other text as text. Throws an `InboxdError` when it is refused. */
  ask(ask: Ask): Promise<unknown>;
  addressOf(ask: Pick<Ask, "path" | "names" | "query">): string;
  readonly fetch: Fetch;
  readonly headers: Readonly<Record<string, string>>;
}

export function caller(options: InboxdOptions, { random, pause }: Machine): Caller {
  const base = baseOf(options);
  const credential = credentialOf(options);
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  // Not kept as a value: browsers want it called as a function of the window.
  const send: Fetch = options.fetch ?? ((url, init) => fetch(url, init));

  const addressOf: Caller["addressOf"] = ({ path, names = {}, query = {} }) => {
    const words = wordsOf(query);
    return `${base}${filled(path, names)}${words === "" ? "" : `?${words}`}`;
  };

  async function attempt(ask: Ask): Promise<unknown> {
    const { method, path, body, idempotencyKey } = ask;
    const timed = timedSignal((ask.timeoutMs ?? options.timeoutMs ?? 30_000) + (ask.thinksMs ?? 0), ask.signal);
    const asked = `${method} ${path}`;
    try {
      const isJson = body !== undefined && !isRaw(body);
      const response = await send(addressOf(ask), {
        method,
        headers: {
          ...headers,
          ...(isJson && { "content-type": "application/json" }),
          ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
          ...ask.headers,
        },
        ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as BodyInit) }),
        signal: timed.signal,
      });
      if (!response.ok) throw refusal(asked, response, await response.text());
      return await contentOf(path, response);
    } catch (error) {
      if (error instanceof InboxdError) throw error;
      if (ask.signal?.aborted) throw ask.signal.reason;
      throw noAnswer(asked, timed.signal.aborted ? timed.signal.reason : error);
    } finally {
      timed.done();
    }
  }

  return {
    async ask(ask) {
      // What can't be asked at all is no failure of the network.
      addressOf(ask);
      const most = isRepeatable(ask.method, ask.idempotencyKey) ? (ask.retries ?? options.retries ?? 3) : 0;
      for (let retries = 0, waitedMs = 0; ; retries += 1) {
        ask.signal?.throwIfAborted();
        try {
          return await attempt(ask);
        } catch (error) {
          if (!(error instanceof InboxdError)) throw error;
          // What an earlier attempt deleted, whose answer was lost, is not there any more.
          if (ask.method === "DELETE" && retries > 0 && error.status === 404) return undefined;
          if (retries >= most) throw error;
          const ms = waitMs({ error, retries, waitedMs }, random);
          if (ms === undefined) throw error;
          if (isOwnWait(error)) waitedMs += ms;
          await pause(ms, ask.signal);
        }
      }
    },
    addressOf,
    fetch: send,
    headers,
  };
}

/** An empty name, or one of dots, would make another path of it. */
function filled(path: string, names: object): string {
  const values = new Map<string, unknown>(Object.entries(names));
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name);
    if (typeof value !== "string" || /^\.{0,2}$/.test(value)) {
      throw new TypeError(`Cannot ask ${path}: "${name}" is ${value === undefined ? "missing" : "no id"}`);
    }
    return encodeURIComponent(value);
  });
}

/** What is undefined is left out, and a list goes with commas. */
function wordsOf(query: object): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) words.set(name, String(value));
  }
  return words.toString();
}

function isRaw(body: unknown): boolean {
  return body instanceof FormData || body instanceof Blob || body instanceof Uint8Array;
}

/** Ends with the caller's signal or when the time is over. Its timer is gone with the attempt. */
function timedSignal(ms: number, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  const end = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${ms / 1000} s`)), ms);
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end);
  return {
    signal: controller.signal,
    done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    },
  };
}
