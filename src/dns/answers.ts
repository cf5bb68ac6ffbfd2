import type { Message, Question } from "./message.ts";
import {
  negativeTtlSeconds,
  type RecordType,
  type RecordValues,
  recordValue,
  typeNumbers,
  type WireRecord,
} from "./records.ts";

/**
 * What the DNS says about a name. `no_name` and `no_record` are answers: there is no such name, or it has no record of
 * that type. `unknown` is none, and never counts as one of these: nobody could say, for a reason in plain words.
 */
export type Answer<Type extends RecordType = RecordType> =
  | { kind: "found"; records: readonly RecordValues[Type][]; ttlSeconds: number }
  | { kind: "no_name" | "no_record"; ttlSeconds: number }
  | Unknown;

export interface Unknown {
  kind: "unknown";
  reason: NoAnswer;
}

export type NoAnswer =
  | "no answer in time"
  | "unreachable"
  | "unreadable answer"
  | "FORMERR"
  | "SERVFAIL"
  | "NOTIMP"
  | "REFUSED"
  | "another error"
  | "a referral"
  | "aliases without end"
  | "too many questions"
  | "given up"
  | "closed";

/** The name is an alias, and the answer doesn't say what is at its end. */
export interface Alias {
  kind: "alias";
  /** What to ask about instead. */
  name: string;
  /** How many led there. */
  count: number;
  ttlSeconds: number;
}

/** A chain that is longer is one that never ends, or one that costs too much. */
export const mostAliases = 8;

/** What an answer comes to, along the aliases that it holds (RFC 1034 §3.6.2). */
export function answerIn<Type extends RecordType>(
  message: Message,
  { name: asked, type }: Question<Type>,
): Answer<Type> | Alias {
  if (message.code !== 0 && message.code !== noSuchName) return unknown(errors[message.code] ?? "another error");
  let name = asked;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let count = 0; count <= mostAliases; count += 1) {
    const records = recordsOf(message, name, typeNumbers[type]);
    if (records.length > 0) return found(type, records, ttlSeconds);
    const [alias] = recordsOf(message, name, typeNumbers.CNAME);
    if (alias === undefined) return nothingAt({ kind: "alias", name, count, ttlSeconds }, message);
    const target = recordValue("CNAME", alias);
    if (target === undefined) return unknown("unreadable answer");
    name = target;
    ttlSeconds = Math.min(ttlSeconds, alias.ttlSeconds);
  }
  return unknown("aliases without end");
}

const noSuchName = 3;
const errors: Partial<Record<number, NoAnswer>> = { 1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED" };

export function unknown(reason: NoAnswer): Unknown {
  return { kind: "unknown", reason };
}

function found<Type extends RecordType>(type: Type, records: WireRecord[], mostSeconds: number): Answer<Type> {
  const values = records.map((record) => recordValue(type, record));
  // One that can't be read may be the one that counts.
  if (!values.every((value) => value !== undefined)) return unknown("unreadable answer");
  return {
    kind: "found",
    records: values,
    ttlSeconds: Math.min(mostSeconds, ...records.map((each) => each.ttlSeconds)),
  };
}

/**
 * There is nothing at the end of the chain, or the answer doesn't say. A server that vouches for "there is none" shows
 * the SOA record of the zone (RFC 2308 §2); one that only knows whom else to ask shows NS records and no SOA.
 */
function nothingAt(end: Alias, { code, isAuthoritative, authority }: Message): Answer<never> | Alias {
  const soa = authority.find(({ type }) => type === typeNumbers.SOA);
  const ttlSeconds = soa === undefined ? 0 : Math.min(end.ttlSeconds, negativeTtlSeconds(soa));
  if (code === noSuchName) return { kind: "no_name", ttlSeconds };
  if (soa === undefined && end.count > 0) return end;
  const refers = soa === undefined && !isAuthoritative && authority.some(({ type }) => type === typeNumbers.NS);
  return refers ? unknown("a referral") : { kind: "no_record", ttlSeconds };
}

function recordsOf({ answers }: Message, name: string, type: number): WireRecord[] {
  return answers.filter((record) => record.type === type && record.name === name);
}
