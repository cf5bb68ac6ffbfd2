import { type Command, Option } from "commander";
import { tokenAccesses } from "../domain/access/key.ts";
import { reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions } from "./client.ts";
import { UsageError } from "./failure.ts";
import { fullTime } from "./short-time.ts";

interface TokenOptions extends ServerOptions {
  inbox?: string;
  externalId?: string;
  access: (typeof tokenAccesses)[number];
  ttl?: string;
}

/** Creates a token for a web page that listens to events, or for an agent with one task. */
export function tokenCommand(program: Command): void {
  reporting(
    ofServer(program.command("token"))
      .description("create a token for a web page or an agent; it expires by itself")
      .option("--inbox <inbox>", "limit the token to this inbox: its id or address")
      .option("--external-id <id>", "limit the token to the inboxes with this externalId")
      .addOption(
        new Option("--access <access>", "what it may do, at most what its key may")
          .choices(tokenAccesses)
          .default("read"),
      )
      .option(
        "--ttl <seconds>",
        "its lifetime, 60 to 86400, or at most 3600 in the address of a stream (default: 900)",
      ),
    async ({ inbox, externalId, access, ttl, ...server }: TokenOptions) => {
      if (ttl !== undefined && !/^\d{1,9}$/.test(ttl))
        throw new UsageError("Cannot make token: --ttl must be a whole number of seconds");
      const client = clientOf(server);
      const inboxId = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.tokens.create({
        access,
        inboxId,
        externalId,
        ttlSeconds: ttl === undefined ? undefined : Number(ttl),
      });
    },
    ({ token, expiresAt }, calendar) => ({ token, expires: fullTime(expiresAt, calendar) }),
  );
}
