import { encodeName, readName } from "./name.ts";
import { type RecordType, typeNumbers, type WireRecord } from "./records.ts";

export interface Question<Type extends RecordType = RecordType> {
  /** In lower case, without a dot at the end. */
  name: string;
  encodedName: Uint8Array;
  type: Type;
}

/** A server's reply to our question. */
export interface Message {
  /** RCODE: 0 (success) and 3 (no such name) are answers, all others are failures. */
  code: number;
  isAuthoritative: boolean;
  answers: readonly WireRecord[];
  authority: readonly WireRecord[];
}

/** Makes the question for a name and a type; `undefined` if the name is invalid. */
export function questionOf<Type extends RecordType>(text: string, type: Type): Question<Type> | undefined {
  const name = plainName(text);
  const encodedName = encodeName(name);
  return encodedName && { name, encodedName, type };
}

/** A name in lower case, without a dot at its end. */
export function plainName(text: string): string {
  return (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
}

/** The question for the root's name servers, which each resolver knows without asking others. */
export const rootQuestion: Question<"NS"> = { name: "", encodedName: Uint8Array.of(0), type: "NS" };

/**
 * Encodes a query (RFC 1035 §4.1) with recursion desired, and with EDNS for replies of up to 1,232 bytes, which no
 * network fragments (RFC 6891, DNS flag day 2020). `isPlain` leaves EDNS out, for servers that reject it.
 */
export function encodeQuestion({ encodedName, type }: Question, id: number, isPlain: boolean): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt16BE(id, 0);
  head.writeUInt16BE(recursionDesired, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(isPlain ? 0 : 1, 10);
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(typeNumbers[type], 0);
  tail.writeUInt16BE(internet, 2);
  return Buffer.concat([head, encodedName, tail, ...(isPlain ? [] : [edns])]);
}

/** The largest reply over UDP. */
const maxUdpBytes = 1232;

/** The OPT record that asks for EDNS: type 41, for the root, with the size in place of the class (RFC 6891 §6.1.2). */
const edns = Buffer.from([0, 0, 41, maxUdpBytes >> 8, maxUdpBytes & 0xff, 0, 0, 0, 0, 0, 0]);

const headBytes = 12;
const internet = 1;
const recursionDesired = 0x0100;
const isAnswer = 0x8000;
const opcodeBits = 0x7800;
const authoritativeBit = 0x0400;
const truncatedBit = 0x0200;

/**
 * Parses the reply to this question with this id. `foreign`: the message is not a reply to our question and must be
 * ignored, because anybody can send one. `unreadable`: the reply to our question is malformed. `truncated`: the reply to
 * our question was cut to fit into a datagram.
 */
export function readAnswer(
  message: Buffer,
  id: number,
  { name, type }: Question,
): Message | "foreign" | "truncated" | "unreadable" {
  if (message.length < headBytes || message.readUInt16BE(0) !== id) return "foreign";
  const flags = message.readUInt16BE(2);
  if ((flags & isAnswer) === 0 || (flags & opcodeBits) !== 0) return "foreign";
  const asked = readName(message, headBytes);
  if (message.readUInt16BE(4) !== 1 || asked === undefined || asked.end + 4 > message.length) return "unreadable";
  const isOurs =
    message.readUInt16BE(asked.end) === typeNumbers[type] && message.readUInt16BE(asked.end + 2) === internet;
  if (asked.name !== name || !isOurs) return "foreign";
  if ((flags & truncatedBit) !== 0) return "truncated";
  const [answerCount, authorityCount] = [message.readUInt16BE(6), message.readUInt16BE(8)];
  const records = readRecords(message, asked.end + 4, answerCount + authorityCount);
  if (records === undefined) return "unreadable";
  return {
    code: flags & 0xf,
    isAuthoritative: (flags & authoritativeBit) !== 0,
    answers: records.slice(0, answerCount),
    authority: records.slice(answerCount),
  };
}

/**
 * The limit on records in a reply; no honest zone has more of one type. A reply with more is rejected as a whole,
 * because a skipped record would look absent.
 */
const maxRecords = 512;

function readRecords(message: Buffer, start: number, count: number): WireRecord[] | undefined {
  if (count > maxRecords) return undefined;
  const records: WireRecord[] = [];
  let at = start;
  while (records.length < count) {
    const owner = readName(message, at);
    if (owner === undefined || owner.end + 10 > message.length) return undefined;
    if (message.readUInt16BE(owner.end + 2) !== internet) return undefined;
    const [dataStart, dataBytes] = [owner.end + 10, message.readUInt16BE(owner.end + 8)];
    at = dataStart + dataBytes;
    if (at > message.length) return undefined;
    records.push({
      name: owner.name,
      type: message.readUInt16BE(owner.end),
      ttlSeconds: ttlOf(message.readUInt32BE(owner.end + 4)),
      message,
      start: dataStart,
      end: at,
    });
  }
  return records;
}

/** A TTL with the highest bit set counts as 0 (RFC 2181 §8). */
function ttlOf(seconds: number): number {
  return seconds > 0x7fff_ffff ? 0 : seconds;
}
