import { encodeName, readName } from "./name.ts";
import { type RecordType, typeNumbers, type WireRecord } from "./records.ts";

export interface Question<Type extends RecordType = RecordType> {
  /** In lower case, without a dot at the end. */
  name: string;
  encodedName: Uint8Array;
  type: Type;
}

/** An answer as it came, to the question that was asked. */
export interface Message {
  /** RCODE: 0 and 3 (no such name) are answers, all else says that there is none. */
  code: number;
  isAuthoritative: boolean;
  answers: readonly WireRecord[];
  authority: readonly WireRecord[];
}

/** `undefined` for a name that nobody can have. */
export function questionOf<Type extends RecordType>(text: string, type: Type): Question<Type> | undefined {
  const name = text.replace(/\.$/, "").toLowerCase();
  const encodedName = encodeName(name);
  return encodedName && { name, encodedName, type };
}

/**
 * The question as it goes out (RFC 1035 §4.1), recursion desired, with room for an answer that no network cuts into
 * fragments (RFC 6891, DNS flag day 2020). `isPlain` leaves that out, for servers that can't stand it.
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

/** The largest answer that comes by UDP. */
const mostUdpBytes = 1232;

/** An OPT record of the root: type 41, in place of the class the size (RFC 6891 §6.1.2). */
const edns = Buffer.from([0, 0, 41, mostUdpBytes >> 8, mostUdpBytes & 0xff, 0, 0, 0, 0, 0, 0]);

const headBytes = 12;
const internet = 1;
const recursionDesired = 0x0100;
const isAnswer = 0x8000;
const opcodeBits = 0x7800;
const authoritativeBit = 0x0400;
const truncatedBit = 0x0200;

/**
 * The answer to this question under this id. `foreign` is what answers another one: anybody may send it, so it must not
 * count. `unreadable` is what answers ours and breaks the rules; `truncated` what has more to say than a datagram holds.
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

/** No honest zone has so many of one type; what is not read must not count as absent, so such an answer is none. */
const mostRecords = 512;

function readRecords(message: Buffer, start: number, count: number): WireRecord[] | undefined {
  if (count > mostRecords) return undefined;
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

/** RFC 2181 §8: what looks negative is nothing. */
function ttlOf(seconds: number): number {
  return seconds > 0x7fff_ffff ? 0 : seconds;
}
