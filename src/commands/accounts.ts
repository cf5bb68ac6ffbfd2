import type { Command } from "commander";
import type { AdminOperation } from "../control/administer.ts";
import { admin } from "./admin.ts";
import { reporting } from "./cli.ts";

/** Accounts, their keys and where their events go. */
export function accountCommands(program: Command): void {
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
  ofAccount(key.command("create").description("make a key; it is shown this once"), "key create");
  ofAccount(key.command("list").description("list the keys"), "key list");
  reporting(key.command("revoke <id>").description("refuse a key from now on"), (id: string) =>
    admin({ operation: "key revoke", arguments: { id } }),
  );

  const webhook = program.command("webhook").description("where an account's events go");
  ofAccount(webhook.command("show").description("print the address"), "webhook show");
  reporting(
    webhook
      .command("set <url>")
      .description("send events to this address; the first time, its secret is shown")
      .option("--account <name>", "the first account where left out"),
    (url: string, { account }: { account?: string }) =>
      admin({ operation: "webhook set", arguments: { url, account } }),
  );
  reporting(
    webhook
      .command("rotate")
      .description("make a new secret; it is shown this once")
      .option("--overlap-seconds <seconds>", "how long the old one stays valid beside it", "0")
      .option("--account <name>", "the first account where left out"),
    ({ account, overlapSeconds }: { account?: string; overlapSeconds: string }) =>
      admin({ operation: "webhook rotate", arguments: { account, overlapSeconds } }),
  );
}

function ofAccount(command: Command, operation: AdminOperation): void {
  reporting(
    command.option("--account <name>", "the first account where left out"),
    ({ account }: { account?: string }) => admin({ operation, arguments: { account } }),
  );
}
