import { type Database, transaction } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { alignEventLog } from "../../store/events/event-log.ts";
import { forgetIndexedMail, insertLine, listAccountIds } from "../../store/upkeep/portable.ts";
import { findSetting, insertOrChangeSetting } from "../../store/upkeep/settings.ts";
import type { Deps } from "../deps.ts";
import { checkWhole, type OpenExport, portableLines } from "./export-file.ts";

export interface Imported {
  rows: number;
  /** The rows of this file that an earlier, interrupted import had already written. */
  resumedAfter: number;
}

/**
 * Imports an export into a database without other accounts. It checks the whole file before it writes anything. Each line is written in one
 * transaction, which also stores the number of the line, so that an interrupted import can be continued.
 */
export async function importEverything(
  { db, mailDomain }: Pick<Deps, "db" | "mailDomain">,
  open: OpenExport,
): Promise<Imported> {
  const domains = new Set<string>();
  const header = await checkWhole(open(), ({ table, rows }) => {
    if (table === "domains") for (const { name } of rows) domains.add(String(name));
  });
  if (header.account !== undefined) {
    throw new Refusal(
      "validation_error",
      "Cannot import: the file is the export of one account; import it with --beside, into a service that was started before",
    );
  }
  if (domains.has(mailDomain.toLowerCase())) {
    throw new Refusal("forbidden", `Cannot import: its own domain ${mailDomain} is the MAIL_DOMAIN of this service`);
  }
  await refuseForeignDatabase(db, open);
  const mark = `import ${header.id}`;
  const done = Number((await findSetting(db.work, mark)) ?? 0);
  let number = 0;
  let rows = 0;
  let resumedAfter = 0;
  for await (const line of portableLines(open())) {
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

/** Refuses a database that has accounts which are not in the export, because the names and numbers of two services would collide. */
async function refuseForeignDatabase(db: Database, open: OpenExport): Promise<void> {
  const own = new Set<string>();
  for await (const { table, rows } of portableLines(open())) {
    if (table === "accounts") for (const { id } of rows) own.add(String(id));
    else if (own.size > 0) break;
  }
  if ((await listAccountIds(db.work)).some((id) => !own.has(id))) {
    throw new Refusal("forbidden", "Cannot import: the database has accounts of its own; import into an empty one");
  }
}
