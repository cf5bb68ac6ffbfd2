import type { Command } from "commander";
import type { ApiClient } from "../api-client.ts";
import { inboxIdOf } from "../find-inbox.ts";

/** What somebody wants to hear of, in the same words at a stream and at a webhook endpoint. */
export interface SubscriptionOptions {
  types?: string;
  inbox?: string;
  skipAutomated?: boolean;
  include?: string;
}

export function ofSubscription(command: Command): Command {
  return command
    .option("--types <types>", "which events, with commas between, or '*' for all (default: message.received)")
    .option("--inbox <inboxes>", "only of these inboxes: ids or addresses, with commas between")
    .option("--skip-automated", "without mail that a program wrote")
    .option(
      "--include <words>",
      "further fields of a message: html, extracted, automated, recipients, with commas between",
    );
}

/** The words of a list with commas. */
export function wordsOf(list: string): string[] {
  return list.split(",").map((word) => word.trim());
}

export function inboxIdsOf(api: ApiClient, list: string): Promise<string[]> {
  return Promise.all(wordsOf(list).map((inbox) => inboxIdOf(api, inbox)));
}
