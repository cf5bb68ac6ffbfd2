import { tmpdir } from "node:os";
import { type Database, openDatabase, transaction } from "../../src/database/db.ts";
import { boundAt, endOf, partitionableTables } from "../../src/domain/partitions.ts";
import { addPartitions, partitionTables } from "../../src/flows/partitions.ts";
import { migrate, migrations } from "../../src/store/migrate.ts";
import { insertPartition, listPartitions } from "../../src/store/upkeep/partitions.ts";
import { administering, databaseUrl } from "./administering.ts";
import { settable } from "./clock.ts";

/**
 * The name of a database with the schema in which all tables are partitioned that can be. Databases of tests are copies of it, because making
 * its hundreds of partitions takes a second. The first test on a server makes it, and it stays there.
 */
export async function partitionedTemplate(server: string): Promise<string> {
  const name = `ibx_partitioned_${Bun.hash(JSON.stringify(migrations)).toString(36)}`;
  await administering(server, async (connection) => {
    await connection.run("select pg_advisory_lock(hashtext('ibx_partitioned'))", []);
    const found = await connection.run(`select 1 from pg_database where datname = '${name}'`, []);
    if (found.length > 0) return;
    const making = `${name}_${crypto.randomUUID().replaceAll("-", "")}`;
    await connection.script(`create database ${making}`);
    await partitionDatabase(databaseUrl(server, making));
    await connection.script(`alter database ${making} rename to ${name}`);
  });
  return name;
}

async function partitionDatabase(url: string): Promise<void> {
  const db = await openDatabase({ url, dataDir: tmpdir() });
  try {
    await migrate(db);
    await partitionAll(db);
  } finally {
    await db.close();
  }
}

/**
 * Partitions by month, from the clock of the worlds to that of the machine, and as far as most tests move either. The last partition takes
 * all later ids, since tests invent some.
 */
async function partitionAll(db: Database): Promise<void> {
  await partitionTables({ db, now: settable().now }, partitionableTables, "month");
  await addPartitions({ db, now: () => new Date(Math.max(Date.now(), Date.UTC(2027, 9))) });
  await db.maintain((own) =>
    transaction(own, async (tx) => {
      for (const [table, partitions] of await listPartitions(tx)) {
        const from = endOf(partitions);
        await insertPartition(tx, table, {
          from: { at: from, bound: boundAt(table, from) },
          to: { at: latest, bound: boundAt(table, latest) },
        });
      }
    }),
  );
}

/** The latest time that an id can have. */
const latest = new Date(2 ** 50 - 1);
