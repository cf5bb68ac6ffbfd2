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

/** Accounts and their keys. */
export function accountCommands(program: Command): void {
  const account = program.command("account").description("accounts of platforms that call the API");
  reporting(
    account
      .command("create <name>")
      .description("make an account and its first API key")
      .addOption(new Option("--plan <plan>", "what its limits go by").choices(plans).default("developer")),
    (name: string, { plan }: { plan: string }) => admin({ operation: "account create", arguments: { name, plan } }),
  );
  reporting(
    account.command("list").description("list the accounts"),
    async () => (await admin({ operation: "account list", arguments: {} })) as AccountRow[],
    (accounts, calendar) =>
      accounts.map(({ id, name, plan, inboxCount, createdAt }) => {
        return { name, plan, inboxes: inboxCount, created: shortTime(createdAt, calendar), id };
      }),
  );

  const key = program.command("key").description("API keys");
  reporting(
    ofAccount(key.command("create"))
      .description("make a key; it is shown this once")
      .option("--name <name>", "to tell it from others: what it is for"),
    ({ account, name }: OfAccount & { name?: string }) =>
      admin({ operation: "key create", arguments: { account, name } }),
  );
  reporting(
    ofAccount(key.command("list")).description("list the keys, newest first"),
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
  reporting(key.command("revoke <id>").description("refuse a key from now on"), (id: string) =>
    admin({ operation: "key revoke", arguments: { id } }),
  );
}

/** The way into the console for whoever runs the service: no key has to be found, typed or kept in a browser. */
export function consoleCommand(program: Command): void {
  reporting(
    ofAccount(program.command("console")).description(
      "print a link that signs a browser in at the console, once and within 5 minutes",
    ),
    async ({ account }: OfAccount) =>
      (await admin({ operation: "console link", arguments: { account } })) as SignInLink,
    ({ url }) => `${url}\n`,
  );
}
