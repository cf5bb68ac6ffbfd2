/**
 * Makes `drizzle/0000_schema.sql`, the one migration, from `src/store/schema.ts` and the SQL below: `bun run migration`.
 * After the first release no migration is edited: each change of the schema becomes a file of its own then.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import config from "../drizzle.config.ts";

const house = join(import.meta.dir, "..");
const path = join(house, "drizzle/0000_schema.sql");

/** Functions that defaults of columns call. */
const beforeTables = `-- The positions of events are ids of transactions, which count up within one cluster. A database that was moved to another cluster,
-- by a dump, starts again with small ids there, and event-log.ts then replaces this shift.
-- Stable, not immutable: a prepared plan would keep an old shift.
CREATE FUNCTION event_log_shift() RETURNS bigint LANGUAGE sql STABLE RETURN 0::bigint;

-- The position of an event. A transaction may take its id before it waits for an inbox. Transactions that number
-- messages of that inbox meanwhile have later ids, and all of them have ended when this statement begins. So the position is
-- at least the id of the last transaction that has ended. It is never before the own id, so no reader has passed it.
-- Stable: all events of a statement get the same position, and their ids order them.
CREATE FUNCTION event_log_position() RETURNS xid8 LANGUAGE sql STABLE
  RETURN ((greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)
    + event_log_shift())::text)::xid8;

-- Before this position the log is complete: it is the position of the oldest transaction that still runs.
CREATE FUNCTION event_log_horizon() RETURNS xid8 LANGUAGE sql STABLE
  RETURN ((pg_snapshot_xmin(pg_current_snapshot())::text::bigint + event_log_shift())::text)::xid8;
`;

/** How columns are stored, which drizzle-kit cannot say. */
const afterTables = `-- Raw mail and attachments are compressed already: a second compression only costs time.
ALTER TABLE "source_chunks" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;

-- lz4 stores the text of a mail in half the time. A server that was built without lz4 keeps its default.
DO $$ BEGIN
  ALTER TABLE "messages" ALTER COLUMN "body_text" SET COMPRESSION lz4;
  ALTER TABLE "messages" ALTER COLUMN "body_html" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
`;

if (import.meta.main) {
  await Bun.write(path, migrationText());
  console.log(`${relative(house, path)} is written; \`bun run cluster\` remakes what an embedded database starts from`);
}

export function isMigrationFresh(): boolean {
  return readFileSync(path, "utf8") === migrationText();
}

function migrationText(): string {
  return [beforeTables, tables(), afterTables].join("\n");
}

/** The tables and indexes as drizzle-kit writes them, into a folder that nobody keeps. */
function tables(): string {
  const out = mkdtempSync(join(tmpdir(), "ibx-migration-"));
  try {
    const { dialect, schema, casing = "snake_case" } = config;
    const options = [
      "--dialect",
      dialect,
      "--schema",
      String(schema),
      "--casing",
      casing,
      "--out",
      relative(house, out),
    ];
    const tool = Bun.spawnSync([process.execPath, "node_modules/drizzle-kit/bin.cjs", "generate", ...options], {
      cwd: house,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [file] = readdirSync(out).filter((name) => name.endsWith(".sql"));
    // drizzle-kit also exits with 0 when it fails.
    if (file === undefined) throw new Error(`Cannot make the migration: ${tool.stdout}${tool.stderr}`);
    return `${readFileSync(join(out, file), "utf8").replace(/\n?--> statement-breakpoint\n/g, "\n")}\n`;
  } finally {
    rmSync(out, { recursive: true });
  }
}
