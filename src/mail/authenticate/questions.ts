/** The DNS, as the service gives it: the client in dns/client.ts. */
export type Resolve = (name: string, type: QuestionType, signal: AbortSignal) => Promise<ResolvedAnswer>;

/** The answer in the memory of that client. As long as it keeps an answer, it returns the same object. */
export type Recall = (name: string, type: QuestionType) => ResolvedAnswer | undefined;

export type QuestionType = "A" | "AAAA" | "CNAME" | "MX" | "PTR" | "TXT";

export type ResolvedAnswer =
  | { kind: "found"; records: readonly (string | { priority: number; exchange: string })[] }
  | { kind: "no_name" | "no_record" }
  | { kind: "unknown"; reason: string };

export interface AskedQuestion {
  name: string;
  type: string;
  /** The records, or why there are none. */
  answer: string;
}

/** A question to which a finding owes its answer. */
export interface NotedAnswer {
  name: string;
  type: string;
  answer: ResolvedAnswer | "too many";
}

/** The questions of a part of the checks about one mail. */
export interface Questions {
  /** Asks, and rejects as the resolver of the runtime does. */
  ask(name: string, type: string): Promise<never>;
  /** Asks for the TXT records of a name. */
  texts(name: string): Promise<readonly string[] | "nothing" | "unknown" | "too many">;
  /** Whether a question had no answer. */
  hasFailed(): boolean;
  /** The same questions, with a list of those that are asked through them. */
  noting(): { noted: Questions; answers: readonly NotedAnswer[] };
  /** Whether the memory of the DNS client still has these answers. No question is asked. */
  areCurrent(answers: readonly NotedAnswer[]): boolean;
}

export interface QuestionsOptions {
  resolve: Resolve;
  /** Undefined for a DNS without a memory. */
  recall?: Recall | undefined;
  signal: AbortSignal;
  /** The most questions. */
  most: number;
  onAnswer?: ((question: AskedQuestion) => void) | undefined;
}

/** Counts the questions, and asks each of them once. A question beyond the last one is refused, which is an error of the mail. */
export function questions({ resolve, recall, signal, most, onAnswer }: QuestionsOptions): Questions {
  const asked = new Map<string, Promise<ResolvedAnswer | "too many">>();
  let failed = false;

  function answerTo(name: string, type: string): Promise<ResolvedAnswer | "too many"> {
    const key = `${type} ${name}`;
    const known = asked.get(key);
    if (known !== undefined) return known;
    const answer = asked.size < most && isType(type) ? ask(name, type) : Promise.resolve("too many" as const);
    asked.set(key, answer);
    return answer;
  }

  async function ask(name: string, type: QuestionType): Promise<ResolvedAnswer> {
    const answer = await resolve(name, type, signal);
    failed ||= answer.kind === "unknown";
    onAnswer?.({ name, type, answer: shown(answer) });
    return answer;
  }

  function areCurrent(answers: readonly NotedAnswer[]): boolean {
    if (recall === undefined) return false;
    return answers.every(({ name, type, answer }) => isType(type) && recall(name, type) === answer);
  }

  function askedThrough(find: (name: string, type: string) => Promise<NotedAnswer["answer"]>): Questions {
    return {
      async ask(name, type) {
        const answer = await find(name, type);
        if (answer === "too many") throw tooMany();
        if (answer.kind === "unknown") throw dnsError(answer.reason, "ESERVFAIL");
        if (answer.kind !== "found") throw dnsError(answer.kind, answer.kind === "no_name" ? "ENOTFOUND" : "ENODATA");
        const records = type === "TXT" ? answer.records.map((text) => [text]) : answer.records.slice();
        // The cast is safe: mailauth reads the records as those of the type that it asked for.
        return records as never;
      },
      async texts(name) {
        const answer = await find(name, "TXT");
        if (answer === "too many") return answer;
        if (answer.kind === "unknown") return "unknown";
        if (answer.kind !== "found") return "nothing";
        return answer.records.filter((record) => typeof record === "string");
      },
      hasFailed: () => failed,
      noting() {
        const answers: NotedAnswer[] = [];
        const noted = askedThrough(async (name, type) => {
          const answer = await find(name, type);
          answers.push({ name, type, answer });
          return answer;
        });
        return { noted, answers };
      },
      areCurrent,
    };
  }

  return askedThrough(answerTo);
}

const types: ReadonlySet<string> = new Set<QuestionType>(["A", "AAAA", "CNAME", "MX", "PTR", "TXT"]);

function isType(type: string): type is QuestionType {
  return types.has(type);
}

/** An error as the resolver of the runtime makes it. The stack is left out, which is most of its cost. */
function dnsError(reason: string, code: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(reason), { code });
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

/** mailauth takes the result of SPF from this property: too many questions are a permanent error (RFC 7208 §4.6.4). */
function tooMany(): Error {
  const text = "too many DNS questions";
  return Object.assign(dnsError(text, "ETOOMANY"), { spfResult: { error: "permerror", text } });
}

function shown(answer: ResolvedAnswer): string {
  if (answer.kind === "unknown") return answer.reason;
  if (answer.kind !== "found") return answer.kind === "no_name" ? "no such name" : "no such record";
  return answer.records
    .map((record) => (typeof record === "string" ? record : `${record.priority} ${record.exchange}`))
    .join(", ");
}
