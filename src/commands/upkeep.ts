import { Argument, type Command, Option } from "commander";
import { readConfig } from "../config.ts";
import { describeConfig } from "../config-shown.ts";
import {
  type Partitionable,
  type PartitionInterval,
  partitionableTables,
  partitionIntervals,
} from "../domain/partitions.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { version } from "../version.ts";
import { admin } from "./admin.ts";
import { reporting } from "./cli.ts";

export function upkeepCommands(program: Command): void {
  reporting(program.command("migrate").description("update the database schema to this version"), async () => {
    const { databaseUrl, databaseDirectUrl, dataDir } = readConfig(process.env);
    const [{ openDatabase }, { migrate, migrations }] = await Promise.all([
      import("../database/db.ts"),
      import("../store/migrate.ts"),
    ]);
    const db = await openDatabase({ url: databaseUrl, directUrl: databaseDirectUrl, dataDir });
    await migrate(db).finally(db.close);
    return { engine: db.engine, schema: migrations.at(-1)?.tag };
  });
  reporting(
    program
      .command("partition")
      .description("divide large tables of a Postgres by time, while the service runs; see docs/operations.md")
      .addArgument(new Argument("<table...>", "the tables").choices(partitionableTables))
      .addOption(
        new Option("--by <interval>", "the time of each partition").choices(partitionIntervals).default("month"),
      ),
    partition,
  );
  reporting(program.command("config").description("print the current settings, with secrets masked"), async () =>
    describeConfig(readConfig(process.env)),
  );
  const secrets = program.command("secrets").description("manage the DKIM keys and webhook secrets in the database");
  reporting(
    secrets.command("reseal").description("seal them again with ENCRYPTION_KEY, or store them plain without it"),
    () => admin({ operation: "secrets reseal", arguments: {} }),
  );
  reporting(program.command("version").description("print the version"), async () => ({ version, bun: Bun.version }));
}

async function partition(tables: readonly Partitionable[], { by }: { by: PartitionInterval }): Promise<object> {
  const { databaseUrl, databaseDirectUrl, dataDir } = readConfig(process.env);
  if (databaseUrl === undefined) {
    throw new Error('Cannot run "partition": the embedded database has no partitions; set DATABASE_URL to a Postgres');
  }
  const [{ openDatabase }, { migrate }, { partitionTables }] = await Promise.all([
    import("../database/db.ts"),
    import("../store/migrate.ts"),
    import("../flows/partitions.ts"),
  ]);
  const db = await openDatabase({ url: databaseUrl, directUrl: databaseDirectUrl, dataDir });
  try {
    await migrate(db);
    return await partitionTables({ db, now: realWorld.now }, tables, by);
  } finally {
    await db.close();
  }
}
