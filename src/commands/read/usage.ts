import { type Command, Option } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions } from "../client.ts";

interface UsageOptions extends ServerOptions {
  from?: string;
  to?: string;
  by: "day" | "inbox";
  inbox?: string;
}

export function usageCommand(program: Command): void {
  reporting(
    ofServer(program.command("usage"))
      .description("print the mail received and sent, its bytes and the created inboxes, of the last 30 days")
      .option("--from <day>", "the first day in UTC, such as 2026-03-20")
      .option("--to <day>", "the last day")
      .addOption(new Option("--by <what>", "a line for each day or inbox").choices(["day", "inbox"]).default("day"))
      .option("--inbox <inbox>", "count only this inbox, by its id or address"),
    async ({ from, to, by, inbox, ...server }: UsageOptions) => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.account.usage({ from, to, group_by: by, inbox_id });
    },
    ({ data, totals }, _, { by }) => [
      ...data.filter(isUsed).map(({ day, inboxId, ...counts }) => ({ [by]: day ?? inboxId ?? "older", ...counts })),
      { [by]: "all", ...totals },
    ],
  );
}

function isUsed({ received, sent, inboxesCreated }: Schemas["Usage"]["totals"]): boolean {
  return received + sent + inboxesCreated > 0;
}
