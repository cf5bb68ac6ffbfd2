import { type Command, Option } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { type SuppressionReason, suppressionReasons } from "../../domain/send/suppressed.ts";
import { printMoreHint, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { shortTime } from "../short-time.ts";
import { exportSuppressions, type ImportOptions, importSuppressions } from "./move.ts";

interface ListOptions extends ServerOptions {
  address?: string;
  inbox?: string;
  reason?: SuppressionReason;
  limit: string;
  cursor?: string;
}

interface AddOptions extends ServerOptions {
  inbox?: string;
  detail?: string;
  until?: string;
}

export function suppressionCommands(program: Command): void {
  const suppressions = program
    .command("suppressions")
    .description("manage the addresses that the server sends nothing to");
  reporting(
    ofServer(suppressions.command("list"))
      .description("list suppressions, newest first")
      .option("--address <address>", "list only this address")
      .option("--inbox <inbox>", "list only those of this inbox: its id or address")
      .addOption(new Option("--reason <reason>", "list only this reason").choices(suppressionReasons))
      .option("--limit <number>", "the most suppressions to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor"),
    list,
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) printMoreHint(`--cursor ${nextCursor}`);
      return data.map(({ id, address, inboxId, reason, createdAt, expiresAt }) => {
        const until = expiresAt === null ? "for ever" : shortTime(expiresAt, calendar);
        return { since: shortTime(createdAt, calendar), until, reason, address, inbox: inboxId ?? "all", id };
      });
    },
  );
  reporting(
    ofServer(suppressions.command("add <address>"))
      .description("send nothing more to an address")
      .option("--inbox <inbox>", "from this inbox only: its id or address")
      .option("--detail <text>", "the reason, as a note for you")
      .option("--until <instant>", "the end, as 2026-12-31T00:00:00Z (default: no end)"),
    add,
  );
  reporting(
    ofServer(suppressions.command("remove <address>")).description(
      "remove all suppressions of an address, or one by its id",
    ),
    remove,
  );
  ofServer(suppressions.command("export <file>"))
    .description("write all suppressions as JSON lines to a new file, or to stdout (-)")
    .option("--json", "print JSON")
    .action(exportSuppressions);
  reporting(
    ofServer(suppressions.command("import <file>"))
      .description(
        "add the suppressions of a file, or of stdin (-): JSON lines, or CSV of SES, SendGrid, Mailgun, Postmark",
      )
      .addOption(
        new Option("--reason <reason>", "the reason for entries without a known one")
          .choices(suppressionReasons)
          .default("manual"),
      ),
    (path: string, options: ImportOptions) => importSuppressions(path, options),
  );
}

async function list({ address, inbox, reason, limit, cursor, ...server }: ListOptions) {
  const client = clientOf(server);
  const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
  return client.suppressions.list({ address, inbox_id, reason, limit: unchecked(limit), cursor }).page();
}

async function add(address: string, { inbox, detail, until, ...server }: AddOptions): Promise<Schemas["AddedOrThere"]> {
  const client = clientOf(server);
  const inboxId = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
  return client.suppressions.add({ address, inboxId, detail, expiresAt: until });
}

async function remove(address: string, server: ServerOptions): Promise<object> {
  const client = clientOf(server);
  const ids = address.startsWith("sup_") && !address.includes("@") ? [address] : await idsOf(address);
  for (const id of ids) await client.suppressions.delete(id);
  return { address, removed: ids.length };

  async function idsOf(address: string): Promise<string[]> {
    const { data } = await client.suppressions.list({ address, limit: 100 }).page();
    if (data.length > 0) return data.map(({ id }) => id);
    throw new Error(`Cannot remove suppression: there is none of ${JSON.stringify(address)}`);
  }
}
