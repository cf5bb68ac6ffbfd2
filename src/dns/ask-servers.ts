import type { NameServer } from "../standards/name-server.ts";
import { type Alias, type Answer, answerIn, mostAliases, type NoAnswer, unknown } from "./answers.ts";
import { exchange } from "./exchange.ts";
import { type Question, questionOf } from "./message.ts";
import type { RecordType } from "./records.ts";

export interface Asking {
  servers: readonly NameServer[];
  randomBytes: (length: number) => Uint8Array;
  /** How long one server may take for one answer. */
  tryMs: number;
  /** When all of it ends, by `performance.now()`. */
  endMs: number;
  signal: AbortSignal;
}

/** What these servers say, asked about each alias too that an answer leaves open. */
export async function askServers<Type extends RecordType>(
  question: Question<Type>,
  asking: Asking,
): Promise<Answer<Type>> {
  let asked: Question<Type> | undefined = question;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let aliases = 0; aliases <= mostAliases; ) {
    // An alias of a name that nobody can have.
    if (asked === undefined) return { kind: "no_name", ttlSeconds };
    const answer: Answer<Type> | Alias = await firstAnswer(asked, asking);
    if (answer.kind === "unknown") return answer;
    ttlSeconds = Math.min(ttlSeconds, answer.ttlSeconds);
    if (answer.kind !== "alias") return { ...answer, ttlSeconds };
    aliases += answer.count;
    asked = questionOf(answer.name, question.type);
  }
  return unknown("aliases without end");
}

/** One server after the other, and once more around: a datagram may be lost, and a server may not bear EDNS. */
async function firstAnswer<Type extends RecordType>(
  question: Question<Type>,
  { servers, endMs, tryMs, randomBytes, signal }: Asking,
): Promise<Answer<Type> | Alias> {
  let last: NoAnswer = "no answer in time";
  for (const isPlain of [false, true]) {
    for (const server of servers) {
      const ms = Math.min(tryMs, endMs - performance.now());
      if (ms <= 0 || signal.aborted) return unknown(signal.aborted ? "closed" : last);
      const message = await exchange({ server, question, randomBytes, isPlain, ms, signal });
      const answer = typeof message === "string" ? unknown(message) : answerIn(message, question);
      if (answer.kind !== "unknown") return answer;
      last = answer.reason;
    }
  }
  return unknown(last);
}
