/**
 * Makes `src/database/embedded-cluster.tar.zst`: the data directory that an embedded database starts from, freshly initialised
 * and migrated. Initialising one takes seconds and a gigabyte, and migrating a third of what a first start takes;
 * unpacking this takes a fraction of each.
 * Run it again, and commit what it makes, whenever @electric-sql/pglite is upgraded or `drizzle/` has another step:
 * `bun run cluster`. A test fails where it was forgotten.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { openDatabase } from "../src/database/db.ts";
import { migrate } from "../src/store/migrate.ts";

const target = join(import.meta.dir, "../src/database/embedded-cluster.tar.zst");
const workplace = mkdtempSync(join(tmpdir(), "ibx-cluster-"));
const cluster = join(workplace, "pg");

const initialised = await PGlite.create({ dataDir: cluster, initDbStartParams: ["--wal-segsize=1"] });
// The engine serves one database and makes no others: the templates are two thirds of a fresh cluster.
await initialised.exec(
  "update pg_database set datistemplate = false, datallowconn = false where datname like 'template%'",
);
await initialised.exec("drop database template1");
await initialised.exec("drop database template0");
await initialised.exec("vacuum full freeze analyze");
await initialised.close();

// After the vacuum, so that the tables have no statistics yet, as after any migration.
const database = await openDatabase({ dataDir: workplace });
await migrate(database);
await database.close();

const engine = await PGlite.create({ dataDir: cluster });
await engine.exec("checkpoint");
// Everything after the switch, with the last checkpoint, is in one segment, the only one that is needed.
await engine.exec("select pg_switch_wal(); select pg_logical_emit_message(false, 'inboxd', '')");
const { rows } = await engine.query<{ name: string }>("select pg_walfile_name(pg_current_wal_insert_lsn()) as name");
await engine.close();
for (const name of readdirSync(join(cluster, "pg_wal"))) {
  if (/^[0-9A-F]{24}$/.test(name) && name !== rows[0]?.name) rmSync(join(cluster, "pg_wal", name));
}

const tar = Bun.spawnSync([
  "tar",
  "--create",
  "--format=ustar",
  "--sort=name",
  "--mtime=@0",
  "--owner=0",
  "--group=0",
  "--numeric-owner",
  "--mode=u=rwX,go=",
  "--directory",
  cluster,
  ".",
]);
if (tar.exitCode !== 0) throw new Error(`Cannot pack the cluster: ${tar.stderr}`);
const packed = Bun.zstdCompressSync(tar.stdout, { level: 22 });

const trial = join(workplace, "trial");
cpSync(cluster, trial, { recursive: true });
const reopened = await PGlite.create({ dataDir: trial });
await reopened.query("create table trial as select 1");
await reopened.close();

await Bun.write(target, packed);
console.log(`${target}: ${tar.stdout.length} bytes, ${packed.length} packed`);
rmSync(workplace, { recursive: true });
