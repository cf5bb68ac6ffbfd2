import { inflateRawSync } from "node:zlib";
import { NoText } from "./no-text.ts";

/** An archive, whose entries are unpacked when they are read. */
export interface Zip {
  has(name: string): boolean;
  /** The bytes of an entry; undefined if there is none. */
  read(name: string): Buffer | undefined;
}

interface Entry {
  isEncrypted: boolean;
  method: number;
  packedBytes: number;
  unpackedBytes: number;
  headerStart: number;
}

/** Limits of an archive against bombs. Documents unpack to ten times their size, rarely to a hundred times. */
const limits = { entries: 10_000, unpackedBytes: 64 << 20, ratio: 200 };

/** Opens an archive (APPNOTE 6.3.10 §4.3). The sizes that it declares are checked at once, the real ones when entries are read. */
export function openZip(bytes: Buffer): Zip {
  const entries = entriesOf(bytes);
  const most = Math.min(limits.unpackedBytes, limits.ratio * bytes.length);
  const declared = Iterator.from(entries.values()).reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0);
  if (declared > most) throw new NoText("too_large");
  let left = most;
  return {
    has: (name) => entries.has(keyOf(name)),
    read(name) {
      const entry = entries.get(keyOf(name));
      if (entry === undefined) return undefined;
      if (entry.isEncrypted) throw new NoText("encrypted");
      const unpacked = unpack(packedPart(bytes, entry), entry.method, left);
      left -= unpacked.length;
      return unpacked;
    },
  };
}

/** The name for comparisons. Names of parts ignore case (ECMA-376-2 §6.2.2), and some writers use backslashes. */
function keyOf(name: string): string {
  return name.replaceAll("\\", "/").toLowerCase();
}

const endBytes = 22;
const longestComment = 0xffff;
const centralBytes = 46;
const localBytes = 30;

function entriesOf(bytes: Buffer): Map<string, Entry> {
  const end = bytes.lastIndexOf("PK\x05\x06");
  if (end < 0 || end < bytes.length - endBytes - longestComment || end + endBytes > bytes.length) {
    throw new NoText("damaged");
  }
  const count = bytes.readUInt16LE(end + 10);
  if (count > limits.entries) throw new NoText("too_large");
  const entries = new Map<string, Entry>();
  let at = bytes.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (at + centralBytes > bytes.length || bytes.toString("latin1", at, at + 4) !== "PK\x01\x02") {
      throw new NoText("damaged");
    }
    const nameEnd = at + centralBytes + bytes.readUInt16LE(at + 28);
    const key = keyOf(bytes.toString("utf8", at + centralBytes, nameEnd));
    const entry = {
      isEncrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
      method: bytes.readUInt16LE(at + 10),
      packedBytes: bytes.readUInt32LE(at + 20),
      unpackedBytes: bytes.readUInt32LE(at + 24),
      headerStart: bytes.readUInt32LE(at + 42),
    };
    if (!entries.has(key)) entries.set(key, entry);
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

function packedPart(bytes: Buffer, { headerStart, packedBytes }: Entry): Buffer {
  if (headerStart + localBytes > bytes.length) throw new NoText("damaged");
  const start = headerStart + localBytes + bytes.readUInt16LE(headerStart + 26) + bytes.readUInt16LE(headerStart + 28);
  if (start + packedBytes > bytes.length) throw new NoText("damaged");
  return bytes.subarray(start, start + packedBytes);
}

function unpack(packed: Buffer, method: number, most: number): Buffer {
  if (method === methods.stored) {
    if (packed.length > most) throw new NoText("too_large");
    return packed;
  }
  if (method !== methods.deflated) throw new NoText("unsupported");
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, most) });
  } catch (error) {
    throw new NoText(error instanceof RangeError ? "too_large" : "damaged");
  }
}

const methods = { stored: 0, deflated: 8 } as const;
