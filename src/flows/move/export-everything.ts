import type { Database } from "../../database/db.ts";
import { migrations } from "../../store/migrate.ts";
import { readEverything } from "../../store/upkeep/portable.ts";

/** The first line of an export. An import stores its progress under the id of the export. */
export interface ExportHeader {
  inboxd: "export";
  id: string;
  version: string;
  schema: string;
  exportedAt: string;
}

/** The last line: a file without it is incomplete. */
export interface ExportEnd {
  end: true;
  rows: number;
  /** SHA-256 of all bytes before this line. */
  sha256: string;
}

export interface ExportOptions {
  id: string;
  version: string;
  now: Date;
}

/** Exports all data as JSON lines, with all ids. Only one line at a time is in memory. */
export async function exportEverything(
  db: Database,
  { id, version, now }: ExportOptions,
  write: (text: string) => Promise<void>,
): Promise<ExportEnd> {
  const hash = new Bun.CryptoHasher("sha256");
  let rows = 0;
  const line = async (value: object) => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    await write(text);
  };
  const header: ExportHeader = {
    inboxd: "export",
    id,
    version,
    schema: migrations.at(-1)?.tag ?? "",
    exportedAt: now.toISOString(),
  };
  await line(header);
  await readEverything(db, async (read) => {
    rows += read.rows.length;
    await line(read);
  });
  const end: ExportEnd = { end: true, rows, sha256: hash.digest("hex") };
  await write(`${JSON.stringify(end)}\n`);
  return end;
}
