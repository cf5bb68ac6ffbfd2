/** A `fetch` that knows where the API is: the app itself, or the network. Paths begin with `/v1`. */
export type AskApi = (path: string, init: RequestInit) => Promise<Response>;

/** The API as the tools use it, with the caller's key. */
export interface Api {
  ask<Answer>(method: string, path: string, question?: Question): Promise<Answered<Answer>>;
  /** The bytes of an answer of 2xx. */
  bytes(path: string, headers: Record<string, string>): Promise<Uint8Array>;
}

export interface Answered<Answer> {
  body: Answer;
  headers: Headers;
}

interface Question {
  /** What is undefined is left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  body?: object;
  headers?: Readonly<Record<string, string>>;
}

/** A failure that the model shall see: what the API refused, or what a tool did. */
export class ToolFailure extends Error {
  readonly code: string;

  constructor(code: string, detail: string) {
    super(detail);
    this.name = "ToolFailure";
    this.code = code;
  }
}

/** `headers` are those that each request carries; `signal` ends what waits when the caller has gone. */
export function apiOf(askApi: AskApi, headers: Readonly<Record<string, string>>, signal: AbortSignal): Api {
  async function answerTo(method: string, path: string, { query = {}, body, headers: own = {} }: Question) {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    const response = await askApi(parameters.size === 0 ? path : `${path}?${parameters}`, {
      method,
      signal,
      headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }), ...own },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw failureOf(await response.text(), response.status);
    return response;
  }

  return {
    async ask<Answer>(method: string, path: string, question: Question = {}) {
      const response = await answerTo(method, path, question);
      return { body: (await response.json()) as Answer, headers: response.headers };
    },
    async bytes(path, own) {
      return (await answerTo("GET", path, { headers: own })).bytes();
    },
  };
}

interface Problem {
  code?: unknown;
  detail?: unknown;
  resets_at?: unknown;
}

function failureOf(text: string, status: number): ToolFailure {
  const { code, detail, resets_at: resetsAt } = problemIn(text);
  if (typeof code !== "string") return new ToolFailure("internal_error", `Cannot ask the API: it answered ${status}`);
  const until = typeof resetsAt === "string" ? ` (possible again at ${resetsAt})` : "";
  return new ToolFailure(code, `${String(detail)}${until}`);
}

function problemIn(text: string): Problem {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
