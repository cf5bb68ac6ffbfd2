import { type Command, Option } from "commander";
import { suppressionReasons } from "../../domain/send/suppressed.ts";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { tellMoreBy } from "../read/more.ts";
import { pathOf } from "../read/shapes.ts";
import { shortTime } from "../short-time.ts";
import { type MoveOptions, moveIn, moveOut, type Suppression, type SuppressionPage } from "./move.ts";

interface ListOptions extends ServerOptions {
  address?: string;
  inbox?: string;
  reason?: string;
  limit: string;
  cursor?: string;
}

interface AddOptions extends ServerOptions {
  inbox?: string;
  detail?: string;
  until?: string;
}

/** Addresses that nothing is sent to. */
export function suppressionCommands(program: Command): void {
  const suppressions = program.command("suppressions").description("addresses that nothing is sent to, over the API");
  reporting(
    ofServer(suppressions.command("list"))
      .description("list them, newest first")
      .option("--address <address>", "only of this address")
      .option("--inbox <inbox>", "only those of this inbox alone: its id or address")
      .addOption(new Option("--reason <reason>", "only of this reason").choices(suppressionReasons))
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--cursor <cursor>", "where the list before ended"),
    list,
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) tellMoreBy(`--cursor ${nextCursor}`);
      return data.map(({ id, address, inboxId, reason, createdAt, expiresAt }) => {
        const until = expiresAt === null ? "for ever" : shortTime(expiresAt, calendar);
        return { since: shortTime(createdAt, calendar), until, reason, address, inbox: inboxId ?? "all", id };
      });
    },
  );
  reporting(
    ofServer(suppressions.command("add <address>"))
      .description("send nothing to an address any more")
      .option("--inbox <inbox>", "from this inbox alone: its id or address")
      .option("--detail <text>", "why, for yourself")
      .option("--until <instant>", "until when, as 2026-12-31T00:00:00Z"),
    add,
  );
  reporting(
    ofServer(suppressions.command("remove <address>")).description(
      "write to an address again: all that is known of it, or one by its id",
    ),
    remove,
  );
  ofServer(suppressions.command("export <file>"))
    .description("write them as JSON lines to a new file, or to stdout (-)")
    .option("--json", "print JSON")
    .action(moveOut);
  reporting(
    ofServer(suppressions.command("import <file>"))
      .description("add those of a file, or of stdin (-): our JSON lines, or CSV of SES, SendGrid, Mailgun, Postmark")
      .addOption(
        new Option("--reason <reason>", "where the list names none that is known")
          .choices(suppressionReasons)
          .default("manual"),
      ),
    (path: string, options: MoveOptions) => moveIn(path, options),
  );
}

async function list({ address, inbox, reason, limit, cursor, ...server }: ListOptions): Promise<SuppressionPage> {
  const api = apiClient(server);
  const inbox_id = inbox === undefined ? undefined : await inboxIdOf(api, inbox);
  return api.ask("GET", "/v1/suppressions", { query: { address, inbox_id, reason, limit, cursor } });
}

async function add(address: string, { inbox, detail, until, ...server }: AddOptions): Promise<Suppression> {
  const api = apiClient(server);
  const inboxId = inbox === undefined ? undefined : await inboxIdOf(api, inbox);
  return api.ask("POST", "/v1/suppressions", { body: { address, inboxId, detail, expiresAt: until } });
}

async function remove(address: string, server: ServerOptions): Promise<object> {
  const api = apiClient(server);
  const ids = address.startsWith("sup_") && !address.includes("@") ? [address] : await idsOf(address);
  for (const id of ids) await api.ask("DELETE", pathOf("suppressions", id));
  return { address, removed: ids.length };

  async function idsOf(address: string): Promise<string[]> {
    const { data } = await api.ask<SuppressionPage>("GET", "/v1/suppressions", { query: { address, limit: 100 } });
    if (data.length > 0) return data.map(({ id }) => id);
    throw new Error(`Cannot remove suppression: there is none of ${JSON.stringify(address)}`);
  }
}
