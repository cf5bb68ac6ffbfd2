import type { Database } from "../../src/database/db.ts";
import { wholeAccount } from "../../src/domain/access/access.ts";
import { events } from "../../src/http/routes/events/events.ts";
import { webhook } from "../../src/http/routes/events/webhook.ts";
import { webhooks } from "../../src/http/routes/events/webhooks.ts";
import { httpApp } from "../../src/http/shell/app.ts";
import { localServer } from "./local-server.ts";
import { readsLog, untilLogShowsAll } from "./log-horizon.ts";
import { type OutboxWorldOptions, outboxWorld } from "./outbox-world.ts";

export interface EventsDoorOptions extends OutboxWorldOptions {
  allowPrivateWebhooks?: boolean;
  webhooksPerAccount?: number;
}

/** The API of events and webhooks over an outbox world; an account's id is its key. */
export async function eventsDoor(db: Database, options: EventsDoorOptions = {}) {
  const world = await outboxWorld(db, options);
  const { allowPrivateWebhooks = true, webhooksPerAccount = 20 } = options;
  const deps = { ...world.deps, allowPrivateWebhooks, webhooksPerAccount };
  const app = httpApp(
    {
      authenticate: (key) =>
        key.startsWith("acc_") ? wholeAccount({ id: key, plan: "developer" }, "key_1") : undefined,
      health: async () => ({ ready: true }),
      serviceId: "service-of-tests",
      cell: "00",
      isDraining: () => false,
      newRequestId: () => "request",
      log: deps.log,
      version: "0.0.0",
      thisServer: localServer,
    },
    { guarded: [events(deps), webhook(deps), ...webhooks(deps)] },
  );

  async function ask(
    accountId: string,
    method: string,
    path: string,
    body?: unknown,
    own: Record<string, string> = {},
  ) {
    if (readsLog(method, path)) await untilLogShowsAll(db.api);
    return askNow(accountId, method, path, body, own);
  }

  /** Reads the log even while a transaction delays it. */
  async function askNow(
    accountId: string,
    method: string,
    path: string,
    body?: unknown,
    own: Record<string, string> = {},
  ) {
    const headers = {
      ...own,
      authorization: `Bearer ${accountId}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await app.handle(new Request(`http://localhost${path}`, init));
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  }

  return { ...world, ask, askNow };
}
