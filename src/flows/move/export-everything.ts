import type { Database } from "../../database/db.ts";
import { readEverything } from "../../store/upkeep/portable.ts";
import { type ExportEnd, type ExportOptions, type WriteText, writeExport } from "./export-file.ts";

/** Exports all data of the service, with all ids. */
export function exportEverything(db: Database, options: ExportOptions, write: WriteText): Promise<ExportEnd> {
  return writeExport(options, write, (onLine) => readEverything(db, onLine));
}
