import type { Command } from "commander";
import type { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import { inboxIdOf } from "./client.ts";

/** The options that select the events of a stream or a webhook endpoint. */
export interface SubscriptionOptions {
  types?: string;
  inbox?: string;
  externalId?: string;
  skipAutomated?: boolean;
  include?: string;
}

export function ofSubscription(command: Command): Command {
  return command
    .option("--types <types>", "event types, separated by commas, or '*' for all (default: message.received)")
    .option("--inbox <inboxes>", "only these inboxes: ids or addresses, separated by commas")
    .option("--external-id <ids>", "only inboxes with these external ids, separated by commas")
    .option("--skip-automated", "skip mail that a program wrote")
    .option(
      "--include <words>",
      "further fields of a message: html, extracted, automated, recipients, authentication, spam, separated by commas",
    );
}

/** Splits a list at its commas. */
export function itemsOf(list: string): string[] {
  return list.split(",").map((item) => item.trim());
}

export function inboxIdsOf(client: Inboxd, list: string): Promise<string[]> {
  return Promise.all(itemsOf(list).map((inbox) => inboxIdOf(client, inbox)));
}
