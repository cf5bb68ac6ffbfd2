import { signal } from "@preact/signals";
import { Inboxd, InboxdError } from "../../sdk/typescript/src/inboxd.ts";
import { service } from "./address.ts";

export { InboxdError, type InboxdEvent, type Schemas } from "../../sdk/typescript/src/inboxd.ts";
export { mayPass } from "../../sdk/typescript/src/retries.ts";
export { verdictText } from "../../sdk/typescript/src/verdict.ts";

/** The source of live events: the stream, polling the log, or none while the service does not answer. */
export const connection = signal<"stream" | "log" | "away">("log");

/** Whether the service has answered 401, so that the user must sign in again. */
export const isSignedOut = signal(false);

export const inboxd = new Inboxd({ baseUrl: service, fetch: watched });

/** Sends a request, and sets `isSignedOut` and `connection` by its response. */
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

/** The text of an error for people: the server's message without its prefix "Cannot …:". */
export function errorText(error: unknown): string {
  if (!(error instanceof InboxdError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0) return noAnswer;
  const faults = error.errors.map(({ pointer, parameter, detail }) => {
    const name = (parameter ?? pointer ?? "").replace(/^#\//, "");
    return name === "" ? detail : `${name} ${detail}`;
  });
  if (faults.length > 0) return faults.join("; ");
  const reason = /^Cannot [^:]+: ([\s\S]+)$/.exec(error.message)?.[1] ?? error.message;
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

export const noAnswer = "The service does not answer. Try again in a moment.";

export function isNotFound(error: unknown): boolean {
  return error instanceof InboxdError && error.status === 404;
}
