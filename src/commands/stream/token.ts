import type { Command } from "commander";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { UsageError } from "../failure.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { fullTime } from "../short-time.ts";

interface TokenOptions extends ServerOptions {
  inbox?: string;
  ttl?: string;
}

interface Token {
  token: string;
  expiresAt: string;
}

/** For a page that shall listen, or an agent with one task. */
export function tokenCommand(program: Command): void {
  reporting(
    ofServer(program.command("token"))
      .description("make a token that reads and does nothing else, for a web page or an agent; it ends by itself")
      .option("--inbox <inbox>", "it reaches this inbox alone: its id or address")
      .option("--ttl <seconds>", "for how long: 60 to 86400, in the address of a stream at most 3600 (default: 900)"),
    async ({ inbox, ttl, ...server }: TokenOptions) => {
      if (ttl !== undefined && !/^\d{1,9}$/.test(ttl))
        throw new UsageError("Cannot make token: --ttl must be a whole number of seconds");
      const api = apiClient(server);
      const inboxId = inbox === undefined ? undefined : await inboxIdOf(api, inbox);
      const ttlSeconds = ttl === undefined ? undefined : Number(ttl);
      return api.ask<Token>("POST", "/v1/tokens", { body: { inboxId, ttlSeconds } });
    },
    ({ token, expiresAt }, calendar) => ({ token, expires: fullTime(expiresAt, calendar) }),
  );
}
