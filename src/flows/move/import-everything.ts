import { type Database, transaction } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { alignEventLog } from "../../store/events/event-log.ts";
import { migrations } from "../../store/migrate.ts";
import { forgetIndexedMail, insertLine, listAccountIds, type PortableLine } from "../../store/upkeep/portable.ts";
import { findSetting, insertOrChangeSetting } from "../../store/upkeep/settings.ts";
import type { ExportEnd, ExportHeader } from "./export-everything.ts";

export interface Imported {
  rows: number;
  /** The rows of this file that an earlier, interrupted import had already written. */
  resumedAfter: number;
}

/**
 * Imports an export into a database without other accounts. It checks the whole file before it writes anything. Each line is written in one
 * transaction, which also stores the number of the line, so that an interrupted import can be continued.
 */
export async function importEverything(db: Database, open: () => AsyncIterable<string>): Promise<Imported> {
  const header = await checkWhole(open());
  await refuseForeignDatabase(db, open());
  const mark = `import ${header.id}`;
  const done = Number((await findSetting(db.work, mark)) ?? 0);
  let number = 0;
  let rows = 0;
  let resumedAfter = 0;
  for await (const text of open()) {
    const line = JSON.parse(text) as ExportHeader | PortableLine | ExportEnd;
    if (!("table" in line)) continue;
    number += 1;
    rows += line.rows.length;
    if (number <= done) {
      resumedAfter = rows;
      continue;
    }
    const reached = String(number);
    await transaction(db.work, async (tx) => {
      await insertLine(tx, line);
      await insertOrChangeSetting(tx, mark, reached);
    });
  }
  await forgetIndexedMail(db.work);
  await alignEventLog(db);
  return { rows, resumedAfter };
}

/** Reads the header of an export file, and checks the whole file against the digest and the number of rows in its last line. */
async function checkWhole(lines: AsyncIterable<string>): Promise<ExportHeader> {
  const hash = new Bun.CryptoHasher("sha256");
  let header: ExportHeader | undefined;
  let rows = 0;
  for await (const text of lines) {
    const line = parsed(text);
    if (header === undefined) header = headerOf(line);
    if ("end" in line) {
      const end = line as unknown as ExportEnd;
      if (end.rows !== rows || end.sha256 !== hash.digest("hex")) throw damaged("its checksum does not match");
      return header;
    }
    hash.update(`${text}\n`);
    if ("table" in line) rows += (line as unknown as PortableLine).rows.length;
  }
  throw damaged("its end is missing");
}

function headerOf(line: object): ExportHeader {
  const header = line as Partial<ExportHeader>;
  if (header.inboxd !== "export" || typeof header.id !== "string") throw damaged("it is not an export of inboxd");
  if (!migrations.some(({ tag }) => tag === header.schema)) {
    throw new Refusal(
      "validation_error",
      `Cannot import: the export was made by a newer inboxd (${header.version}); import it with that version or a later one`,
    );
  }
  return header as ExportHeader;
}

function parsed(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    throw damaged("a line is not JSON");
  }
}

function damaged(why: string): Refusal {
  return new Refusal("validation_error", `Cannot import: the file is damaged, ${why}`);
}

/** Refuses a database that has accounts which are not in the export, because the names and numbers of two services would collide. */
async function refuseForeignDatabase(db: Database, lines: AsyncIterable<string>): Promise<void> {
  const own = new Set<string>();
  for await (const text of lines) {
    const line = JSON.parse(text) as Partial<PortableLine>;
    if (line.table === "accounts") for (const { id } of line.rows ?? []) own.add(String(id));
    else if (own.size > 0) break;
  }
  if ((await listAccountIds(db.work)).some((id) => !own.has(id))) {
    throw new Refusal("forbidden", "Cannot import: the database has accounts of its own; import into an empty one");
  }
}
