import { signal } from "@preact/signals";
import { Inboxd, InboxdError } from "../../sdk/typescript/src/inboxd.ts";
import { service } from "./address.ts";

export { InboxdError, type InboxdEvent, type Schemas } from "../../sdk/typescript/src/inboxd.ts";

/** How news comes: by the stream, by asking for the log, or not at all. */
export const connection = signal<"stream" | "log" | "away">("log");

/** Said by the service where it does not know the session any more. */
export const isSignedOut = signal(false);

export const inboxd = new Inboxd({ baseUrl: service, fetch: watched });

/** Each answer tells how we stand with the service: there is nothing else to ask for it. */
async function watched(url: string | URL, init: RequestInit): Promise<Response> {
  const { pathname } = new URL(url);
  try {
    const response = await fetch(url, init);
    if (response.status === 401) isSignedOut.value = true;
    if (pathname.endsWith("/v1/events/stream")) connection.value = response.ok ? "stream" : "log";
    return response;
  } catch (error) {
    if (!init.signal?.aborted) connection.value = "away";
    throw error;
  }
}

export interface AskedLoosely {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** What this version of the client has no types for. */
export const ask = inboxd.request as unknown as <Answer>(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  asked: AskedLoosely,
) => Promise<Answer>;

/** What was refused, in words for people: the server's own, without the beginning that programs want. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof InboxdError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return "The service does not answer. Try again in a moment.";
  const faults = error.errors.map(({ pointer, parameter, detail }) => {
    const name = (parameter ?? pointer ?? "").replace(/^#\//, "");
    return name === "" ? detail : `${name} ${detail}`;
  });
  if (faults.length > 0) return faults.join("; ");
  const reason = /^Cannot [^:]+: ([\s\S]+)$/.exec(error.message)?.[1] ?? error.message;
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

export function isNotThere(error: unknown): boolean {
  return error instanceof InboxdError && error.status === 404;
}
