import { readName } from "./name.ts";

/** The value of a record, for each type that can be queried. */
export interface RecordValues {
  A: string;
  AAAA: string;
  CNAME: string;
  /** A null MX has an empty `exchange` (RFC 7505). */
  MX: { priority: number; exchange: string };
  NS: string;
  PTR: string;
  /** All strings of the record, joined (RFC 7208 §3.3, RFC 6376 §3.6.2.2). */
  TXT: string;
}

export type RecordType = keyof RecordValues;

/** Numbers of the record types (RFC 1035 §3.2.2, RFC 3596 §2.1). SOA is read only in the authority section. */
export const typeNumbers = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28 } as const;

/** One record of a message. Its data is `message` from `start` to `end`. */
export interface WireRecord {
  name: string;
  type: number;
  ttlSeconds: number;
  message: Buffer;
  start: number;
  end: number;
}

/** Reads the value of a record of this type; `undefined` if its data is malformed. */
export function recordValue<Type extends RecordType>(type: Type, record: WireRecord): RecordValues[Type] | undefined {
  return readers[type](record);
}

/** The TTL of a negative answer: the last number in the data of the SOA record, or the record's TTL if that is lower (RFC 2308 §5). */
export function negativeTtlSeconds({ ttlSeconds, message, start, end }: WireRecord): number {
  return end - start < minSoaBytes ? 0 : Math.min(ttlSeconds, message.readUInt32BE(end - 4));
}

/** The smallest data of an SOA record: two names of one byte, and five numbers of four bytes. */
const minSoaBytes = 22;

const readers: { [Type in RecordType]: (record: WireRecord) => RecordValues[Type] | undefined } = {
  A: ({ message, start, end }) => (end - start === 4 ? message.subarray(start, end).join(".") : undefined),
  AAAA: ({ message, start, end }) => (end - start === 16 ? ipv6Text(message.subarray(start, end)) : undefined),
  CNAME: ({ message, start, end }) => nameTo(message, start, end),
  NS: ({ message, start, end }) => nameTo(message, start, end),
  PTR: ({ message, start, end }) => nameTo(message, start, end),
  MX({ message, start, end }) {
    const exchange = end - start < 3 ? undefined : nameTo(message, start + 2, end);
    return exchange === undefined ? undefined : { priority: message.readUInt16BE(start), exchange };
  },
  TXT({ message, start, end }) {
    const strings: Uint8Array[] = [];
    for (let at = start; at < end; ) {
      const next = at + 1 + message.readUInt8(at);
      if (next > end) return undefined;
      strings.push(message.subarray(at + 1, next));
      at = next;
    }
    return Buffer.concat(strings).toString("utf8");
  },
};

function nameTo(message: Buffer, start: number, end: number): string | undefined {
  const read = readName(message, start);
  return read?.end === end ? read.name : undefined;
}

/** Writes an IPv6 address in its canonical form (RFC 5952), by means of the URL parser. */
function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return new URL(`http://[${groups.join(":")}]/`).hostname.slice(1, -1);
}
