import { readFile } from "node:fs/promises";
import { type Silence, silence } from "../primitives/silence.ts";
import { waitingLine } from "../primitives/waiting-line.ts";
import { type NameServer, parseNameServer } from "../standards/name-server.ts";
import { type Answer, type NoAnswer, unknown } from "./answers.ts";
import { askServers } from "./ask-servers.ts";
import { exchange } from "./exchange.ts";
import { answerMemory, type MemoryLimits } from "./memory.ts";
import { plainName, type Question, questionOf, rootQuestion } from "./message.ts";
import type { RecordType } from "./records.ts";

/**
 * A DNS client. The one of the runtime is not used, because it has two faults: it splits a TXT record into its strings, so
 * that a DKIM key of 2,048 bits is never found, and it reports "no such record" as "no such name".
 */
export interface DnsClient {
  /** Never rejects. Aborting the signal ends this call at once, but not the query, because other calls may share it. */
  ask: Ask;
  /** The answer in the cache, at once. It is the same object as long as it is kept. Undefined if the question would have to be asked. */
  recall: <Type extends RecordType>(name: string, type: Type) => Answer<Type> | undefined;
  /** Ends all queries. */
  close(): Promise<void>;
}

export type Ask = <Type extends RecordType>(name: string, type: Type, signal?: AbortSignal) => Promise<Answer<Type>>;

export interface DnsOptions {
  /** `undefined`: the servers in /etc/resolv.conf. */
  servers: readonly NameServer[] | undefined;
  now: () => Date;
  randomBytes: (length: number) => Uint8Array;
  observe?: DnsObserver | undefined;
  limits?: Partial<DnsLimits>;
}

/** Called once for each call of `ask` with a valid name, and of `recall` with an answer. */
export type DnsObserver = (outcome: DnsOutcome) => void;

/**
 * `kept`: the answer was in the cache, or on its way to another call. `asked`: a server answered, or could not be reached. `timed_out`:
 * none did in time. `refused`: none was asked, because all are silent or too many questions wait.
 */
export type DnsOutcome = (typeof dnsOutcomes)[number];
export const dnsOutcomes = ["kept", "asked", "timed_out", "refused"] as const;

export interface DnsLimits extends MemoryLimits {
  /** The time limit for one reply from one server. */
  tryMs: number;
  /** The time limit for a whole query. It includes the wait for a slot, all tries of all servers, and all aliases. */
  questionMs: number;
  maxInFlight: number;
  maxWaiting: number;
}

const defaultLimits: DnsLimits = {
  tryMs: 2000,
  questionMs: 10_000,
  maxInFlight: 256,
  maxWaiting: 10_000,
  maxAnswers: 50_000,
  maxCharacters: 16_000_000,
};

/** Runs at most one query at a time for a name and type. Calls during a query share its answer, later calls read the cache. */
export function dnsClient({ servers, now, randomBytes, observe, limits: given }: DnsOptions): DnsClient {
  const limits = { ...defaultLimits, ...given };
  const memory = answerMemory(now, limits);
  const waiting = waitingLine<void>({ waitMs: limits.questionMs, late: () => new Error("no slot in time") });
  let freeSlots = limits.maxInFlight;
  const out = new Map<string, Promise<Answer>>();
  const closing = new AbortController();
  const silences = new Map<string, Silence>();

  const recall: DnsClient["recall"] = (name, type) => {
    const recalled = memory.recall(keyOf(name, type));
    if (recalled !== undefined) observe?.("kept");
    // The cast is safe: the key contains the type, so the answer has records of this type.
    return recalled as Answer<typeof type> | undefined;
  };

  const ask: Ask = async (name, type, signal) => {
    if (closing.signal.aborted) return unknown("closed");
    // Only answers about valid names are kept.
    const recalled = recall(name, type);
    if (recalled !== undefined) return recalled;
    const question = questionOf(name, type);
    if (question === undefined) return { kind: "no_name", ttlSeconds: 0 };
    const key = keyOf(name, type);
    if (out.has(key)) observe?.("kept");
    const answer = await orGivenUp(() => out.get(key) ?? send(key, question), signal);
    return answer as Answer<typeof type>;
  };

  function send(key: string, question: Question): Promise<Answer> {
    const answer = sendInSlot(key, question).finally(() => out.delete(key));
    out.set(key, answer);
    if (observe !== undefined) void answer.then(outcomeOf).then((outcome) => outcome && observe(outcome));
    return answer;
  }

  async function sendInSlot(key: string, question: Question): Promise<Answer> {
    const endMs = performance.now() + limits.questionMs;
    const noSlot = await takeSlot();
    if (noSlot !== undefined) return unknown(noSlot);
    try {
      const { tryMs } = limits;
      const asked = servers ?? (await systemServers());
      const { signal } = closing;
      const answer = await askServers(question, { servers: asked, silenceOf, randomBytes, tryMs, endMs, signal });
      // No question was asked, and the next one is to be asked as soon as a server answers again.
      if (!isRefused(answer)) memory.remember(key, answer);
      return answer;
    } finally {
      if (waiting.length > 0) waiting.serveFirst();
      else freeSlots += 1;
    }
  }

  /** Waits for one of the `maxInFlight` slots for queries. Returns undefined if it got one, otherwise why not. */
  async function takeSlot(): Promise<NoAnswer | undefined> {
    if (freeSlots > 0) {
      freeSlots -= 1;
      return undefined;
    }
    if (waiting.length >= limits.maxWaiting) return "too many questions";
    return waiting.join({}).then(
      () => undefined,
      () => "no answer in time" as const,
    );
  }

  function silenceOf(server: NameServer): Silence {
    const key = `${server.address} ${server.port}`;
    const known = silences.get(key) ?? silence({ now, probe: () => probe(server) });
    silences.set(key, known);
    return known;
  }

  async function probe(server: NameServer): Promise<boolean> {
    const { signal } = closing;
    const reply = await exchange({
      server,
      question: rootQuestion,
      randomBytes,
      isPlain: true,
      ms: limits.tryMs,
      signal,
    });
    return reply !== "no answer in time";
  }

  async function close(): Promise<void> {
    closing.abort();
    await Promise.allSettled(out.values());
  }

  return { ask, recall, close };
}

/** The key of a question in the cache. */
function keyOf(name: string, type: RecordType): string {
  return `${type} ${plainName(name)}`;
}

/** Undefined if the client was closed before the answer. */
function outcomeOf(answer: Answer): DnsOutcome | undefined {
  if (answer.kind !== "unknown") return "asked";
  if (answer.reason === "closed") return undefined;
  if (answer.reason === "no answer in time") return "timed_out";
  return isRefused(answer) ? "refused" : "asked";
}

function isRefused(answer: Answer): boolean {
  return (
    answer.kind === "unknown" && (answer.reason === "servers that are silent" || answer.reason === "too many questions")
  );
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

/**
 * The name servers in resolv.conf(5), or this machine if the file names none. The file is read again for each query, so
 * that a change of network needs no restart.
 */
export async function systemServers(path = "/etc/resolv.conf"): Promise<readonly NameServer[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  const servers = text.split("\n").flatMap((line) => {
    const [, address] = /^\s*nameserver\s+(\S+)/.exec(line) ?? [];
    const server = address === undefined ? undefined : parseNameServer(address);
    return server === undefined ? [] : [server];
  });
  return servers.length > 0 ? servers.slice(0, maxServers) : [{ address: "127.0.0.1", port: 53 }];
}

/** The first three configured name servers are used, as in the C library. */
const maxServers = 3;
