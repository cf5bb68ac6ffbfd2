import type { Silence } from "../primitives/silence.ts";
import type { NameServer } from "../standards/name-server.ts";
import { type Alias, type Answer, answerIn, maxAliases, type NoAnswer, unknown } from "./answers.ts";
import { exchange } from "./exchange.ts";
import { type Question, questionOf } from "./message.ts";
import type { RecordType } from "./records.ts";

export interface Asking {
  servers: readonly NameServer[];
  /** The silence of a server. It is left out while it is silent. */
  silenceOf: (server: NameServer) => Silence;
  randomBytes: (length: number) => Uint8Array;
  /** The time limit for one reply from one server. */
  tryMs: number;
  /** The deadline of the whole query, by `performance.now()`. */
  endMs: number;
  signal: AbortSignal;
}

/** Sends a question to these servers. If the answer ends at an alias without its target's records, asks for the target. */
export async function askServers<Type extends RecordType>(
  question: Question<Type>,
  asking: Asking,
): Promise<Answer<Type>> {
  let asked: Question<Type> | undefined = question;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let aliases = 0; aliases <= maxAliases; ) {
    // The target of the alias is not a valid name.
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

/**
 * Returns the first usable answer. Tries all servers in order, then all again without EDNS, because a datagram may be
 * lost, and because a server may not support EDNS. Silent servers are left out.
 */
async function firstAnswer<Type extends RecordType>(
  question: Question<Type>,
  { servers, silenceOf, endMs, tryMs, randomBytes, signal }: Asking,
): Promise<Answer<Type> | Alias> {
  let last: NoAnswer | undefined;
  for (const isPlain of [false, true]) {
    for (const server of servers) {
      const silence = silenceOf(server);
      if (await silence.isSilent()) continue;
      const ms = Math.min(tryMs, endMs - performance.now());
      if (ms <= 0 || signal.aborted) return unknown(signal.aborted ? "closed" : (last ?? "no answer in time"));
      const message = await exchange({ server, question, randomBytes, isPlain, ms, signal });
      if (message === "no answer in time") silence.timedOut();
      if (typeof message !== "string") silence.answered();
      const answer = typeof message === "string" ? unknown(message) : answerIn(message, question);
      if (answer.kind !== "unknown") return answer;
      last = answer.reason;
    }
  }
  return unknown(last ?? "servers that are silent");
}
