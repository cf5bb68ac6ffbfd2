import type { Command } from "commander";
import { deliveryCommands } from "./deliveries.ts";
import { endpointCommands } from "./endpoints.ts";
import { settingCommands } from "./settings.ts";

/** Where an account's events go, and what became of them. */
export function webhookCommands(program: Command): void {
  const webhook = program.command("webhook").description("where an account's events go");
  endpointCommands(webhook);
  settingCommands(webhook);
  deliveryCommands(webhook);
}
