import { Argument, type Command, Option } from "commander";
import { accesses } from "../domain/access/access.ts";
import { suspensions } from "../domain/access/suspension.ts";
import { plans } from "../domain/limits.ts";
import { admin } from "./admin.ts";
import { type OfAccount, ofAccount, reporting } from "./cli.ts";
import { shortTime } from "./short-time.ts";

interface AccountRow {
  id: string;
  name: string;
  plan: string;
  inboxCount: number;
  suspended: string | null;
  createdAt: string;
}

interface KeyRow {
  id: string;
  name: string | null;
  key: string;
  access: string;
  inboxId: string | null;
  externalId: string | null;
  expiresAt: string | null;
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

/** The options of a new key. */
interface NewKey {
  name?: string;
  access: string;
  inbox?: string;
  externalId?: string;
  expires?: string;
  allow?: string;
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
      accounts.map(({ id, name, plan, inboxCount, suspended, createdAt }) => {
        return { name, plan, inboxes: inboxCount, suspended, created: shortTime(createdAt, calendar), id };
      }),
  );
  reporting(
    account
      .command("suspend <name>")
      .description("suspend an account, until it is resumed")
      .addArgument(
        new Argument(
          "<scope>",
          "sending: its sends; all: also its other requests and mail to it; moving: as all, while it moves",
        ).choices(suspensions),
      )
      .option("--reason <text>", "why, for operators and the audit")
      .option("--moved-to <host>", "with moving: the cell to which it has moved, which gets its mail"),
    (name: string, scope: string, { reason, movedTo }: { reason?: string; movedTo?: string }) =>
      admin({ operation: "account suspend", arguments: { name, scope, reason, movedTo } }),
  );
  reporting(account.command("resume <name>").description("end the suspension of an account"), (name: string) =>
    admin({ operation: "account resume", arguments: { name } }),
  );

  const key = program.command("key").description("manage API keys");
  reporting(
    ofAccount(key.command("create"))
      .description("create a key and print it once")
      .option("--name <name>", "a name for the key, such as its purpose")
      .addOption(new Option("--access <access>", "what it may do").choices(accesses).default("full"))
      .option("--inbox <id>", "limit it to this inbox")
      .option("--external-id <id>", "limit it to the inboxes with this externalId")
      .option("--expires <instant>", "its end: a day such as 2027-03-21, or an instant (default: none)")
      .option("--allow <addresses>", "IP addresses and blocks from which it may be used, with commas (default: any)"),
    (options: OfAccount & NewKey) => admin({ operation: "key create", arguments: { ...options } }),
  );
  reporting(key.command("show <id>").description("show a key without its secret"), (id: string) =>
    admin({ operation: "key show", arguments: { id } }),
  );
  reporting(
    key
      .command("rotate <id>")
      .description("create a key like this one and print it once; the old one ends after the overlap")
      .option("--overlap <seconds>", "how long the old key still works, 0 to 604800 (default: 86400)"),
    (id: string, { overlap }: { overlap?: string }) => admin({ operation: "key rotate", arguments: { id, overlap } }),
  );
  reporting(
    ofAccount(key.command("list")).description("list keys, newest first"),
    async ({ account }: OfAccount) => (await admin({ operation: "key list", arguments: { account } })) as KeyRow[],
    (keys, calendar) =>
      keys.map(({ id, name, key, access, inboxId, externalId, createdAt, lastUsedAt, expiresAt, revokedAt }) => ({
        name,
        key,
        access,
        reach: inboxId ?? externalId,
        created: shortTime(createdAt, calendar),
        used: shortTime(lastUsedAt, calendar),
        expires: shortTime(expiresAt, calendar),
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
