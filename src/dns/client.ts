import type { NameServer } from "../standards/name-server.ts";
import { type Answer, unknown } from "./answers.ts";
import { askServers } from "./ask-servers.ts";
import { answerMemory } from "./memory.ts";
import { type Question, questionOf } from "./message.ts";
import type { RecordType } from "./records.ts";
import { systemServers } from "./servers.ts";
import { slots } from "./slots.ts";

/**
 * Asks the DNS. The runtime's own resolver is not used: it gives each string of a TXT record as a record of its own,
 * so that no DKIM key of 2048 bits is found, and says "no such name" for "no such record".
 */
export interface DnsClient {
  /** Never rejects. Who gives up by his signal is told at once; others who wait for the same answer get it. */
  ask: Ask;
  /** Ends the questions that are out. */
  close(): Promise<void>;
}

export type Ask = <Type extends RecordType>(name: string, type: Type, signal?: AbortSignal) => Promise<Answer<Type>>;

export interface DnsOptions {
  /** `undefined`: those of the machine. */
  servers: readonly NameServer[] | undefined;
  now: () => Date;
  randomBytes: (length: number) => Uint8Array;
  limits?: Partial<DnsLimits>;
}

export interface DnsLimits {
  /** For one answer of one server. */
  tryMs: number;
  /** For a question in all: every server twice, every alias, and the wait for a slot. */
  questionMs: number;
  mostInFlight: number;
  mostWaiting: number;
  mostAnswers: number;
  mostCharacters: number;
}

const usualLimits: DnsLimits = {
  tryMs: 2000,
  questionMs: 10_000,
  mostInFlight: 256,
  mostWaiting: 10_000,
  mostAnswers: 10_000,
  mostCharacters: 8_000_000,
};

/** One question at a time for a name and type: who asks while it is out shares its answer, who asks later its memory. */
export function dnsClient({ servers, now, randomBytes, limits: given }: DnsOptions): DnsClient {
  const limits = { ...usualLimits, ...given };
  const memory = answerMemory(now, limits);
  const inFlight = slots(limits.mostInFlight, limits.mostWaiting);
  const out = new Map<string, Promise<Answer>>();
  const closing = new AbortController();

  const ask: Ask = async (name, type, signal) => {
    if (closing.signal.aborted) return unknown("closed");
    const question = questionOf(name, type);
    if (question === undefined) return { kind: "no_name", ttlSeconds: 0 };
    const key = `${type} ${question.name}`;
    const answer = memory.recall(key) ?? (await orGivenUp(() => out.get(key) ?? send(key, question), signal));
    // The key names the type.
    return answer as Answer<typeof type>;
  };

  function send(key: string, question: Question): Promise<Answer> {
    const answer = afterOthers(key, question).finally(() => out.delete(key));
    out.set(key, answer);
    return answer;
  }

  async function afterOthers(key: string, question: Question): Promise<Answer> {
    const endMs = performance.now() + limits.questionMs;
    // Whoever has a slot came earlier and must end earlier: so nobody waits beyond his own end.
    if (!(await inFlight.take())) return unknown("too many questions");
    try {
      const { tryMs } = limits;
      const asked = servers ?? (await systemServers());
      const answer = await askServers(question, { servers: asked, randomBytes, tryMs, endMs, signal: closing.signal });
      memory.remember(key, answer);
      return answer;
    } finally {
      inFlight.giveBack();
    }
  }

  async function close(): Promise<void> {
    closing.abort();
    await Promise.allSettled(out.values());
  }

  return { ask, close };
}

async function orGivenUp(question: () => Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
  if (signal === undefined) return question();
  if (signal.aborted) return unknown("given up");
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const giveUp = () => resolve(unknown("given up"));
  signal.addEventListener("abort", giveUp);
  try {
    return await Promise.race([question(), promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
