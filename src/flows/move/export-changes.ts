import { Refusal } from "../../domain/errors.ts";
import { openingTableNames } from "../../store/upkeep/account-rows.ts";
import { keysOf, type PortableRow } from "../../store/upkeep/portable.ts";
import {
  checkWhole,
  type ExportEnd,
  type ExportOptions,
  type OpenExport,
  portableLines,
  type WriteText,
  writeExport,
} from "./export-file.ts";

/**
 * Writes what has changed between two exports of an account: the rows that are new, and the keys of those that are gone. A changed row is
 * gone and new. All rows are compared, because many changes have neither an event nor a time, as a thread that is marked as read. The rows
 * that open an account are written whole, as its import writes them last.
 */
export async function writeChanges(
  options: ExportOptions,
  { earlier, later }: { earlier: OpenExport; later: AsyncIterable<string> },
  write: WriteText,
): Promise<ExportEnd> {
  const known = rowSet();
  const before = await checkWhole(earlier(), ({ table, rows }) => {
    if (!openingTableNames.has(table)) for (const row of rows) known.add(table, row);
  });
  const { id: after, account } = before;
  if (account === undefined) throw refused("the earlier export is not that of one account");
  if (before.after !== undefined) throw refused("the earlier export has only changes; name the whole one before it");
  return writeExport({ ...options, account, after }, write, async (onLine) => {
    await checkWhole(later, async ({ table, rows }, header) => {
      if (header.account !== account) throw refused("the earlier export is that of another account");
      if (header.schema !== before.schema) throw refused("the earlier export was made by another version of inboxd");
      const changed = openingTableNames.has(table) ? rows : rows.filter((row) => !known.take(table, row));
      if (changed.length > 0) await onLine({ table, rows: changed });
    });
    for await (const { table, rows } of portableLines(earlier())) {
      if (openingTableNames.has(table)) continue;
      const left = rows.filter((row) => !known.isTaken(table, row));
      if (left.length > 0) await onLine({ table, rows: keysOf({ table, rows: left }), gone: true });
    }
  });
}

/** The rows of an export, each as the first 64 bits of its digest: a map of ten million texts would take gigabytes. */
function rowSet() {
  let digests = new BigUint64Array(1 << 10);
  let size = 0;
  /** Which rows were taken; undefined as long as rows are added. */
  let taken: Uint8Array | undefined;

  function sorted(): Uint8Array {
    if (taken !== undefined) return taken;
    digests = digests.subarray(0, size).sort();
    taken = new Uint8Array(size);
    return taken;
  }

  /** The place of a row among the sorted ones; -1 for an unknown row. */
  function placeOf(table: string, row: PortableRow): number {
    const digest = digestOf(table, row);
    let from = 0;
    for (let to = size; from < to; ) {
      const middle = (from + to) >>> 1;
      if ((digests[middle] ?? 0n) < digest) from = middle + 1;
      else to = middle;
    }
    return digests[from] === digest ? from : -1;
  }

  return {
    add(table: string, row: PortableRow): void {
      if (size === digests.length) {
        const larger = new BigUint64Array(size * 2);
        larger.set(digests);
        digests = larger;
      }
      digests[size] = digestOf(table, row);
      size += 1;
    },
    /** Whether the row is known. It is taken from now on. */
    take(table: string, row: PortableRow): boolean {
      const marks = sorted();
      const place = placeOf(table, row);
      if (place >= 0) marks[place] = 1;
      return place >= 0;
    },
    isTaken: (table: string, row: PortableRow): boolean => sorted()[placeOf(table, row)] === 1,
  };
}

function digestOf(table: string, row: PortableRow): bigint {
  const digest = new Bun.CryptoHasher("sha256").update(`${table} ${JSON.stringify(row)}`).digest();
  return digest.readBigUInt64LE(0);
}

function refused(why: string): Refusal {
  return new Refusal("validation_error", `Cannot export: ${why}`);
}
