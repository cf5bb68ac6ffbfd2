import { type Command, InvalidArgumentError, Option } from "commander";
import { checkWebhookUrl } from "../domain/events/webhook-url.ts";
import { plans } from "../domain/limits.ts";
import { webhookEventCommands } from "./accounts/webhook-events.ts";
import { admin } from "./admin.ts";
import { type OfAccount, ofAccount, reporting } from "./cli.ts";
import { fullTime, shortTime } from "./short-time.ts";

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

interface ShownWebhook {
  url: string | null;
  secretLast4: string | null;
  createdAt: string | null;
  disabledAt: string | null;
}

/** Accounts, their keys and where their events go. */
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

  const webhook = program.command("webhook").description("where an account's events go");
  webhookEventCommands(webhook);
  reporting(
    ofAccount(webhook.command("show")).description("print the address"),
    async ({ account }: OfAccount) =>
      (await admin({ operation: "webhook show", arguments: { account } })) as ShownWebhook,
    ({ createdAt, disabledAt, ...webhook }, calendar) => {
      return { ...webhook, createdAt: fullTime(createdAt, calendar), disabledAt: fullTime(disabledAt, calendar) };
    },
  );
  reporting(
    ofAccount(webhook.command("set"))
      .argument("<url>", "https, or http too where ALLOW_PRIVATE_WEBHOOKS is 1", webhookUrl)
      .description("send events to this address; where none was set, the secret is shown, later ones keep it"),
    (url: string, { account }: OfAccount) =>
      admin({ operation: "webhook set", arguments: { url, account } }) as Promise<SetWebhook>,
    shownWebhook,
  );
  reporting(
    ofAccount(webhook.command("rotate"))
      .description("make a new secret; it is shown this once, and the old one stays valid beside it for a day")
      .option("--overlap-seconds <seconds>", "that long instead; 0 when the old one has leaked", overlap, "86400"),
    async ({ account, overlapSeconds }: OfAccount & { overlapSeconds: string }) => {
      const made = await admin({ operation: "webhook rotate", arguments: { account, overlapSeconds } });
      return { ...(made as { secret: string }), overlapSeconds: Number(overlapSeconds) };
    },
    ({ secret, overlapSeconds }) => ({
      secret,
      before: overlapSeconds === 0 ? "signs nothing from now on" : `signs beside it for ${overlapSeconds} s more`,
    }),
  );
}

interface SetWebhook {
  url: string;
  secretLast4: string;
  /** Shown where there was no address before. */
  secret?: string;
}

function shownWebhook({ url, secret, secretLast4 }: SetWebhook): object {
  const kept = `as before, it ends in ${secretLast4}; inboxd webhook rotate makes a new one`;
  return { url, secret: secret ?? kept };
}

/** What can't be one anywhere. Whether it may be this one is for the service to say, whose setting it is. */
function webhookUrl(text: string): string {
  const url = checkWebhookUrl(text, { allowPrivate: true });
  if (typeof url === "string") throw new InvalidArgumentError(`It ${url}.`);
  return text;
}

/** As the API takes it. */
function overlap(text: string): string {
  if (/^\d{1,6}$/.test(text) && Number(text) <= 604_800) return text;
  throw new InvalidArgumentError("It must be 0 to 604800 whole seconds.");
}
