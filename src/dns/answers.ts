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
 * The result of a DNS query. `no_name`: the name does not exist. `no_record`: the name has no record of this type.
 * `unknown`: no server gave a usable answer; callers must not treat it as `no_name` or `no_record`.
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
  | "servers that are silent"
  | "unreachable"
  | "unreadable answer"
  | "FORMERR"
  | "SERVFAIL"
  | "NOTIMP"
  | "REFUSED"
  | "another error"
  | "a referral"
  | "aliases without end"
  | "servers that differ"
  | "too many questions"
  | "given up"
  | "closed";

/** The name is an alias, and the answer does not include the records of its target. */
export interface Alias {
  kind: "alias";
  /** The target, which must be queried next. */
  name: string;
  /** The number of aliases from the name in the question to the target. */
  count: number;
  ttlSeconds: number;
}

/** The most aliases to follow: a longer chain is either a loop or too expensive. */
export const maxAliases = 8;

/** Reads the answer to a question from a message, and follows the aliases that the message contains (RFC 1034 §3.6.2). */
export function answerIn<Type extends RecordType>(
  message: Message,
  { name: asked, type }: Question<Type>,
): Answer<Type> | Alias {
  if (message.code !== 0 && message.code !== noSuchName) return unknown(errors[message.code] ?? "another error");
  let name = asked;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (let count = 0; count <= maxAliases; count += 1) {
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

function found<Type extends RecordType>(type: Type, records: WireRecord[], maxSeconds: number): Answer<Type> {
  const values = records.map((record) => recordValue(type, record));
  // The whole answer is rejected, because the caller may need exactly the unreadable record.
  if (!values.every((value) => value !== undefined)) return unknown("unreadable answer");
  return {
    kind: "found",
    records: values,
    ttlSeconds: Math.min(maxSeconds, ...records.map((each) => each.ttlSeconds)),
  };
}

/**
 * The answer if the last name in the chain of aliases has no records in this message. If the name has no such
 * records, the server adds the SOA record of the zone (RFC 2308 §2). A server that refers us to other servers adds NS records instead.
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
