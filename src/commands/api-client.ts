import { type Command, Option } from "commander";
import { eventSource, RefusedStream, type ServerSentEvent } from "../../sdk/typescript/src/event-source.ts";
import type { InboxdFault } from "../../sdk/typescript/src/failures.ts";
import { exchange, fetchHere } from "./exchange.ts";
import { reasonOf, UsageError } from "./failure.ts";

/** The HTTP API, as the commands for scripts use it. */
export interface ApiClient {
  readonly url: string;
  /** The body of an answer of 2xx; throws an `ApiProblem` for any other. */
  ask<Answer>(method: string, path: string, question?: Question): Promise<Answer>;
  /** The same, with the answer's headers. */
  askWhole<Answer>(method: string, path: string, question?: Question): Promise<{ body: Answer; headers: Headers }>;
  /** Sends a file as the body, as it is read from the disk. */
  upload<Answer>(path: string, question: Pick<Question, "query"> & { file: Blob }): Promise<Answer>;
  /** What comes on a stream, over cut connections and restarts of the server, until the signal. */
  stream(path: string, question: StreamQuestion): AsyncGenerator<ServerSentEvent>;
}

export interface Question {
  /** What is undefined is left out. */
  query?: Record<string, string | number | undefined>;
  body?: object;
  headers?: Record<string, string>;
}

export interface StreamQuestion extends Pick<Question, "query"> {
  /** The place to go on from. Without one it begins now, and must begin at once. */
  lastEventId?: string | undefined;
  signal: AbortSignal;
  /** What is in the way while it is tried again. */
  warn(text: string): void;
}

/** What the server refused, in its own words. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  /** With `not_found`: what there is none of. */
  readonly resource: string | undefined;

  constructor(status: number, code: string, detail: string, resource?: string) {
    super(`${code}: ${detail}`);
    this.name = "ApiProblem";
    this.status = status;
    this.code = code;
    this.resource = resource;
  }

  /** Whether the server has no such path: it is older than who asks. */
  get isOlderServer(): boolean {
    return this.code === "not_found" && this.resource === "route";
  }

  /** Whether what was asked for can't be meant, by anybody at any time. */
  get isWrongUsage(): boolean {
    return this.code === "validation_error" || this.code.startsWith("invalid_");
  }
}

/** Something else answered. */
class ForeignAnswer extends ApiProblem {
  constructor(status: number, url: string) {
    super(status, "", "");
    this.message = `Cannot ask ${url}: what answers there is no inboxd (it answered ${status})`;
  }
}

export interface ServerOptions {
  url?: string;
  apiKey?: string;
}

const defaultUrl = "http://127.0.0.1:3000";

/** For the help of an option that takes a secret: process lists show all arguments, a shell keeps them. */
export const seenByOthers = "(others on this machine can see arguments: better set the variable)";

/** The options that say which server, and as whom. */
export function ofServer(command: Command): Command {
  return command
    .addOption(new Option("--url <url>", `address of the server (default: ${defaultUrl})`).env("INBOXD_URL"))
    .addOption(apiKeyOption());
}

export function apiKeyOption(): Option {
  return new Option("--api-key <key>", `key of the account ${seenByOthers}`).env("INBOXD_API_KEY");
}

export function apiClient(options: ServerOptions): ApiClient {
  // An empty variable counts as not set, as everywhere.
  const url = (options.url || defaultUrl).replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, "");
  const apiKey = options.apiKey;
  if (!apiKey) throw new UsageError("Cannot ask the server: no API key: set INBOXD_API_KEY, or give --api-key");
  if (!/^https?:\/\//.test(url)) {
    throw new UsageError("Cannot ask the server: its address must begin with http:// or https://");
  }
  if (!URL.canParse(url)) {
    throw new UsageError(`Cannot ask the server: ${url} is no address of one; a port is a number up to 65535`);
  }

  const authorization = `Bearer ${apiKey}`;

  function addressOf(path: string, query: Question["query"] = {}): URL {
    const address = new URL(`${url}${path}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) address.searchParams.set(name, String(value));
    }
    return address;
  }

  function unreachable(error: unknown): Error {
    return new Error(`Cannot reach ${url}: ${reasonOf(error)}`);
  }

  function refused(status: number, answer: unknown): ApiProblem {
    const { code, detail, resource, errors } = (answer ?? {}) as Record<string, unknown>;
    if (typeof code !== "string") return new ForeignAnswer(status, url);
    const said = `${detail}${furtherFaults(errors)}`;
    return new ApiProblem(status, code, said, typeof resource === "string" ? resource : undefined);
  }

  async function askWhole<Answer>(method: string, path: string, { query, body, headers = {} }: Question = {}) {
    const exchanged = await exchange({
      method,
      url: addressOf(path, query),
      headers: {
        authorization,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      timeoutMs,
    }).catch((error: unknown) => {
      throw unreachable(error);
    });
    const { status, text } = exchanged;
    const answer = parsed(text);
    const isOurs = text === "" || (typeof answer === "object" && answer !== null);
    if (status >= 200 && status < 300 && isOurs) return { body: answer as Answer, headers: exchanged.headers };
    throw refused(status, answer);
  }

  async function upload<Answer>(path: string, { query, file }: Pick<Question, "query"> & { file: Blob }) {
    const exchanged = async () => {
      const response = await fetchHere(addressOf(path, query), {
        ...{ method: "POST", headers: { authorization }, body: file, redirect: "manual" },
        signal: AbortSignal.timeout(uploadTimeoutMs),
      });
      return { status: response.status, answer: parsed(await response.text()) };
    };
    const { status, answer } = await exchanged().catch((error: unknown) => {
      throw unreachable(error);
    });
    if (status === 201 && typeof answer === "object" && answer !== null) return answer as Answer;
    throw refused(status, answer);
  }

  async function* stream(path: string, { query, warn, ...place }: StreamQuestion) {
    const told = (trouble: unknown) =>
      trouble instanceof RefusedStream ? refused(trouble.status, parsed(trouble.text)) : unreachable(trouble);
    const asked = { fetch: fetchHere, url: addressOf(path, query), headers: { authorization } };
    const events = eventSource({ ...asked, ...place, onTrouble: (trouble) => warn(told(trouble).message) });
    try {
      yield* events;
    } catch (error) {
      throw told(error);
    }
  }

  return {
    url,
    askWhole,
    upload,
    stream,
    async ask<Answer>(method: string, path: string, question?: Question) {
      return (await askWhole<Answer>(method, path, question)).body;
    },
  };
}

/** All but the first, which is in the sentence of a refusal: that only counts the others. */
function furtherFaults(errors: unknown): string {
  if (!Array.isArray(errors) || errors.length < 2) return "";
  return `:${(errors.slice(1) as InboxdFault[]).map((fault) => `\n  ${shownFault(fault)}`).join("")}`;
}

function shownFault({ pointer, parameter, detail }: InboxdFault): string {
  const name = parameter ?? pointer?.replace(/^#\/?/, "") ?? "";
  return `${name === "" ? "the body" : JSON.stringify(name)} ${detail}`;
}

/** Longer than any answer takes: a send waits for its first attempt, at most 30 s. */
const timeoutMs = 40_000;

/** The server itself gives a file no longer. */
const uploadTimeoutMs = 600_000;

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
