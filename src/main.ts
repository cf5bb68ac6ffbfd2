#!/usr/bin/env bun
import { Command, CommanderError } from "commander";
import { admin } from "./commands/admin.ts";
import { printed } from "./commands/print.ts";
import { serve } from "./commands/serve.ts";
import { ConfigError, describeConfig, readConfig } from "./config.ts";
import { openDatabase } from "./store/db.ts";
import { DataDirectoryInUse } from "./store/directory-lock.ts";
import { migrate, migrations } from "./store/migrate.ts";
import { version } from "./version.ts";

const exitCodes = { done: 0, failed: 1, usage: 2, inUse: 3 } as const;

const program = new Command("inboxd")
  .description("Real email addresses for users, workspaces and software agents")
  .version(version, "-V, --version")
  .exitOverride()
  .showHelpAfterError();

/** What a command makes is printed, for a person or with `--json` for a script. */
function reporting<Given extends unknown[]>(command: Command, work: (...given: Given) => Promise<object>): void {
  command.option("--json", "print JSON").action(async (...given: unknown[]) => {
    const { json = false } = command.opts<{ json?: boolean }>();
    process.stdout.write(printed(await work(...(given as Given)), json));
  });
}

program
  .command("serve")
  .description("run the service (all settings come from the environment)")
  .action(async () => {
    process.exitCode = await serve();
  });

reporting(program.command("migrate").description("bring the database's schema to this version"), async () => {
  const { databaseUrl, dataDir } = readConfig(process.env);
  const db = await openDatabase({ url: databaseUrl, dataDir });
  await migrate(db).finally(db.close);
  return { engine: db.engine, schema: migrations.at(-1)?.tag };
});

reporting(program.command("config").description("print the settings in force, secrets masked"), async () =>
  describeConfig(readConfig(process.env)),
);

reporting(program.command("version").description("print the version"), async () => ({ version, bun: Bun.version }));

const account = program.command("account").description("accounts of platforms that call the API");
reporting(
  account
    .command("create <name>")
    .description("make an account and its first API key")
    .option("--plan <plan>", "free, developer or enterprise", "developer"),
  (name: string, { plan }: { plan: string }) => admin({ operation: "account create", arguments: { name, plan } }),
);
reporting(account.command("list").description("list the accounts"), () =>
  admin({ operation: "account list", arguments: {} }),
);

const key = program.command("key").description("API keys");
reporting(
  key
    .command("create")
    .description("make a key; it is shown this once")
    .option("--account <name>", "the first account where left out"),
  (given: { account?: string }) => admin({ operation: "key create", arguments: { account: given.account } }),
);
reporting(
  key.command("list").description("list the keys").option("--account <name>", "the first account where left out"),
  (given: { account?: string }) => admin({ operation: "key list", arguments: { account: given.account } }),
);
reporting(key.command("revoke <id>").description("refuse a key from now on"), (id: string) =>
  admin({ operation: "key revoke", arguments: { id } }),
);

const webhook = program.command("webhook").description("where an account's events go");
reporting(
  webhook
    .command("show")
    .description("print the address")
    .option("--account <name>", "the first account where left out"),
  (given: { account?: string }) => admin({ operation: "webhook show", arguments: { account: given.account } }),
);

async function run(): Promise<number> {
  try {
    await program.parseAsync();
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    // Commander has said what was wrong with the words; help and version are no failures.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (error instanceof ConfigError) return exitCodes.usage;
    return error instanceof DataDirectoryInUse ? exitCodes.inUse : exitCodes.failed;
  }
}

process.exit(await run());
