import type { Command } from "commander";
import { readConfig } from "../config.ts";
import { describeConfig } from "../config-shown.ts";
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
