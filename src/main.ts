#!/usr/bin/env bun
import { Command, CommanderError } from "commander";
import { InboxdError } from "../sdk/typescript/src/errors.ts";
import { accountCommands, consoleCommand } from "./commands/accounts.ts";
import { approvalCommands } from "./commands/approvals.ts";
import { authenticateCommand } from "./commands/authenticate/command.ts";
import type { Register } from "./commands/cli.ts";
import { completionCommand } from "./commands/completion.ts";
import { demoCommand } from "./commands/demo.ts";
import { dnsCommand } from "./commands/dns.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { domainCommands } from "./commands/domains.ts";
import { draftCommands } from "./commands/drafts.ts";
import { addExamples } from "./commands/examples.ts";
import { isWrongRequest, messageOf, UsageError } from "./commands/failure.ts";
import { healthcheckCommand } from "./commands/healthcheck.ts";
import { addHelpCommands } from "./commands/help.ts";
import { ingestCommand } from "./commands/ingest.ts";
import { listenCommand } from "./commands/listen.ts";
import { mcpCommand, skillCommand } from "./commands/mcp/mcp.ts";
import { auditCommand, operatorCommands } from "./commands/operators.ts";
import { outboxCommands } from "./commands/outbox.ts";
import { portableCommands } from "./commands/portable.ts";
import { quarantineCommands } from "./commands/quarantine.ts";
import { eventCommands } from "./commands/read/events.ts";
import { inboxCommands } from "./commands/read/inboxes.ts";
import { messageCommands } from "./commands/read/messages.ts";
import { threadCommands } from "./commands/read/threads.ts";
import { usageCommand } from "./commands/read/usage.ts";
import { waitCommand } from "./commands/read/wait.ts";
import { policyCommands, ruleCommands } from "./commands/rules.ts";
import { sendCommand } from "./commands/send.ts";
import { serveCommand } from "./commands/serve.ts";
import { suppressionCommands } from "./commands/suppressions/commands.ts";
import { systemdCommand } from "./commands/systemd.ts";
import { tailCommand } from "./commands/tail.ts";
import { print } from "./commands/terminal.ts";
import { tokenCommand } from "./commands/token.ts";
import { triggerCommand } from "./commands/trigger.ts";
import { upkeepCommands } from "./commands/upkeep.ts";
import { webhookCommands } from "./commands/webhook/endpoints.ts";
import { ConfigError } from "./config.ts";
import { DataDirectoryInUse } from "./database/directory-lock.ts";
import { version } from "./version.ts";

const exitCodes = { done: 0, failed: 1, usage: 2, inUse: 3 } as const;

/** The commands, in the groups and the order of the help. */
const groups: readonly [heading: string, commands: readonly Register[]][] = [
  ["Service:", [serveCommand, upkeepCommands, healthcheckCommand, doctorCommand, dnsCommand, systemdCommand]],
  [
    "Accounts, keys and domains:",
    [accountCommands, tokenCommand, consoleCommand, operatorCommands, auditCommand, domainCommands],
  ],
  [
    "Mail:",
    [
      inboxCommands,
      sendCommand,
      draftCommands,
      approvalCommands,
      ingestCommand,
      messageCommands,
      waitCommand,
      threadCommands,
      quarantineCommands,
      usageCommand,
      triggerCommand,
      authenticateCommand,
    ],
  ],
  ["Events:", [eventCommands, tailCommand, listenCommand, webhookCommands]],
  ["Outgoing mail:", [outboxCommands, suppressionCommands]],
  ["Who may write:", [ruleCommands, policyCommands]],
  ["Data:", [portableCommands]],
  ["Agents, shells and a demo:", [mcpCommand, skillCommand, completionCommand, demoCommand]],
];

process.exit(await run());

async function run(): Promise<number> {
  const program = new Command("inboxd")
    .description("Real email addresses for users, workspaces and software agents")
    .version(version, "-V, --version")
    .exitOverride()
    .showHelpAfterError("(--help shows the commands and options)");
  for (const [heading, commands] of groups) {
    program.commandsGroup(heading);
    for (const register of commands) register(program);
  }
  addExamples(program);
  addHelpCommands(program);
  try {
    await program.parseAsync();
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    // Commander has already printed the error. Help and version also end here, with exit code 0.
    if (error instanceof CommanderError) {
      return error.exitCode === 0 ? exitCodes.done : Number(process.exitCode ?? exitCodes.usage);
    }
    print(`${messageOf(error)}\n`, process.stderr);
    if (error instanceof DataDirectoryInUse) return exitCodes.inUse;
    // A command may have set the exit code.
    return Number(process.exitCode ?? (isWrongUsage(error) ? exitCodes.usage : exitCodes.failed));
  }
}

function isWrongUsage(error: unknown): boolean {
  if (error instanceof InboxdError) return isWrongRequest(error);
  return error instanceof ConfigError || error instanceof UsageError;
}
