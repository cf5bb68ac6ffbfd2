import { type Command, Option } from "commander";
import { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import { isLoopbackHost } from "../standards/host-name.ts";
import { UsageError } from "./failure.ts";

export interface ServerOptions {
  url?: string;
  apiKey?: string;
}

const defaultUrl = "http://127.0.0.1:3000";

/** A warning for the help of an option with a secret: process lists show all arguments, and a shell keeps them. */
export const seenByOthers = "(other users of this machine can see arguments; the variable is safer)";

/** Adds the options that name the server and the account. */
export function ofServer(command: Command): Command {
  return command
    .addOption(new Option("--url <url>", `address of the server (default: ${defaultUrl})`).env("INBOXD_URL"))
    .addOption(apiKeyOption());
}

export function apiKeyOption(): Option {
  return new Option("--api-key <key>", `API key of the account ${seenByOthers}`).env("INBOXD_API_KEY");
}

/** The client for the server in the options. It makes no retries: a script decides about them itself. */
export function clientOf({ url, apiKey }: ServerOptions): Inboxd {
  // An empty variable counts as not set.
  const baseUrl = (url || defaultUrl).replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, "");
  if (!apiKey) throw new UsageError("Cannot ask the server: no API key: set INBOXD_API_KEY, or give --api-key");
  if (!/^https?:\/\//.test(baseUrl)) {
    throw new UsageError("Cannot ask the server: its address must begin with http:// or https://");
  }
  if (!URL.canParse(baseUrl)) {
    throw new UsageError(`Cannot ask the server: ${baseUrl} is not a valid address; a port is a number up to 65535`);
  }
  return new Inboxd({ baseUrl, apiKey, fetch: fetchFromHere, timeoutMs, retries: 0 });
}

/** Longer than any response takes: a send waits at most 30 s for its first attempt. */
const timeoutMs = 40_000;

/** A `fetch` that returns redirects as they are, and reaches this machine without the proxy of the environment. */
export function fetchFromHere(url: string | URL, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, redirect: "manual", ...(isLoopback(url) && { proxy: false }) });
}

export function isLoopback(url: string | URL): boolean {
  return isLoopbackHost(new URL(url).hostname);
}

/** The id of an inbox, from its id, its address or its username. */
export async function inboxIdOf(client: Inboxd, name: string): Promise<string> {
  if (/^inb_[0-9a-z]{26}$/.test(name)) return name;
  const inbox = await client.inboxes.find(name);
  if (inbox !== undefined) return inbox.id;
  throw new Error(`Cannot find inbox: the account has no inbox ${JSON.stringify(name)}`);
}

/** Passes on a number or a word as the text that the user wrote. The service checks it, and its error message names the fault. */
export function unchecked<Value = number>(text: string | null | undefined): Value {
  return text as never;
}
