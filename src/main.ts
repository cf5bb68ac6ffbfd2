#!/usr/bin/env bun
import { Command, CommanderError } from "commander";
import { accountCommands } from "./commands/accounts.ts";
import type { Register } from "./commands/cli.ts";
import { demoCommand } from "./commands/demo.ts";
import { dnsCommand } from "./commands/dns.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { healthcheckCommand } from "./commands/healthcheck.ts";
import { listenCommand } from "./commands/listen.ts";
import { mailCommands } from "./commands/mail.ts";
import { portableCommands } from "./commands/portable.ts";
import { serveCommand } from "./commands/serve.ts";
import { systemdCommand } from "./commands/systemd.ts";
import { tell } from "./commands/terminal.ts";
import { upkeepCommands } from "./commands/upkeep.ts";
import { ConfigError } from "./config.ts";
import { DataDirectoryInUse } from "./database/directory-lock.ts";
import { version } from "./version.ts";

const exitCodes = { done: 0, failed: 1, usage: 2, inUse: 3 } as const;

const commands: readonly Register[] = [
  serveCommand,
  upkeepCommands,
  accountCommands,
  mailCommands,
  portableCommands,
  demoCommand,
  listenCommand,
  healthcheckCommand,
  doctorCommand,
  dnsCommand,
  systemdCommand,
];

process.exit(await run());

async function run(): Promise<number> {
  const program = new Command("inboxd")
    .description("Real email addresses for users, workspaces and software agents")
    .version(version, "-V, --version")
    .exitOverride()
    .showHelpAfterError();
  for (const register of commands) register(program);
  try {
    await program.parseAsync();
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    // Commander has said what was wrong with the words; help and version are no failures.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    tell(`${error instanceof Error ? error.message : String(error)}\n`, process.stderr);
    if (error instanceof ConfigError) return exitCodes.usage;
    return error instanceof DataDirectoryInUse ? exitCodes.inUse : exitCodes.failed;
  }
}
