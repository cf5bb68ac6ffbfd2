import type { Command } from "commander";
import { admin } from "../admin.ts";
import { type OfAccount, ofAccount, reporting } from "../cli.ts";
import { shortTime } from "../short-time.ts";

interface Tested {
  delivered: boolean;
}

interface Delivery {
  attempt: number;
  attemptedAt: string;
  status: number | null;
  latencyMs: number | null;
  error: string | null;
}

/** What was delivered to a webhook, whether anything would be, and again. */
export function webhookEventCommands(webhook: Command): void {
  reporting(
    ofAccount(webhook.command("test")).description(
      "deliver one signed webhook.test event now, and tell what came of it",
    ),
    async ({ account }: OfAccount) => {
      const tested = (await admin({ operation: "webhook test", arguments: { account } })) as Tested;
      if (!tested.delivered) process.exitCode = 1;
      return tested;
    },
  );
  reporting(
    ofAccount(webhook.command("deliveries <event>")).description(
      "list the attempts to deliver an event, the first first; the last 100 are kept",
    ),
    async (event: string, { account }: OfAccount) =>
      (await admin({ operation: "webhook deliveries", arguments: { event, account } })) as Delivery[],
    (deliveries, calendar) =>
      deliveries.map(({ attempt, attemptedAt, status, latencyMs, error }) => {
        return { attempt, time: shortTime(attemptedAt, calendar), status, ms: latencyMs, error };
      }),
  );
  reporting(
    ofAccount(webhook.command("redeliver <event>")).description("put an event in line to be delivered once more"),
    (event: string, { account }: OfAccount) => admin({ operation: "webhook redeliver", arguments: { event, account } }),
  );
  reporting(
    ofAccount(webhook.command("delete")).description(
      "deliver nothing from now on and forget the secret; events stay in the log",
    ),
    ({ account }: OfAccount) => admin({ operation: "webhook delete", arguments: { account } }),
  );
}
