import { type Command, Option } from "commander";
import { plans } from "../domain/limits.ts";
import { admin } from "./admin.ts";
import { type OfAccount, ofAccount, reporting } from "./cli.ts";
import { shortTime } from "./short-time.ts";

interface AccountRow {
  id: string;
  name: string;
  plan: string;
  inboxCount: number;
  createdAt: string;
}

interface KeyRow {
  id: string;
  name: string | null;
  key: string;
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

interface SignInLink {
  url: string;
  expiresAt: string;
}

export function accountCommands(program: Command): void {
  const account = program.command("account").description("manage accounts, one for each platform that uses the API");
  reporting(
    account
      .command("create <name>")
      .description("create an account and its first API key")
      .addOption(new Option("--plan <plan>", "the plan, which sets its limits").choices(plans).default("developer")),
    (name: string, { plan }: { plan: string }) => admin({ operation: "account create", arguments: { name, plan } }),
  );
  reporting(
    account.command("list").description("list all accounts"),
    async () => (await admin({ operation: "account list", arguments: {} })) as AccountRow[],
    (accounts, calendar) =>
      accounts.map(({ id, name, plan, inboxCount, createdAt }) => {
        return { name, plan, inboxes: inboxCount, created: shortTime(createdAt, calendar), id };
      }),
  );

  const key = program.command("key").description("manage API keys");
  reporting(
    ofAccount(key.command("create"))
      .description("create a key and print it once")
      .option("--name <name>", "a name for the key, such as its purpose"),
    ({ account, name }: OfAccount & { name?: string }) =>
      admin({ operation: "key create", arguments: { account, name } }),
  );
  reporting(
    ofAccount(key.command("list")).description("list keys, newest first"),
    async ({ account }: OfAccount) => (await admin({ operation: "key list", arguments: { account } })) as KeyRow[],
    (keys, calendar) =>
      keys.map(({ id, name, key, createdAt, lastUsedAt, revokedAt }) => ({
        name,
        key,
        created: shortTime(createdAt, calendar),
        used: shortTime(lastUsedAt, calendar),
        revoked: shortTime(revokedAt, calendar),
        id,
      })),
  );
  reporting(key.command("revoke <id>").description("revoke a key"), (id: string) =>
    admin({ operation: "key revoke", arguments: { id } }),
  );
}

/** Adds `console`, which prints a sign-in link. With it the operator needs no key in the browser. */
export function consoleCommand(program: Command): void {
  reporting(
    ofAccount(program.command("console")).description(
      "print a link that signs a browser in to the console, once and within 5 minutes",
    ),
    async ({ account }: OfAccount) =>
      (await admin({ operation: "console link", arguments: { account } })) as SignInLink,
    ({ url }) => `${url}\n`,
  );
}
