import { type Command, Option } from "commander";
import { admin } from "../admin.ts";
import { type ApiClient, ApiProblem, apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { UsageError } from "../failure.ts";
import { tellMoreBy } from "../read/more.ts";
import { pathOf } from "../read/shapes.ts";
import { shortTime } from "../short-time.ts";
import { isEndpointId, ofEndpoint, serverOf, type WhoseOptions } from "./endpoint.ts";

interface Tested {
  delivered: boolean;
}

/** One attempt to deliver an event. */
interface Attempt {
  attempt: number;
  attemptedAt: string;
  status: number | null;
  latencyMs: number | null;
  error: string | null;
  webhookId: string | null;
}

/** What became of an event at an endpoint. */
interface Delivery {
  event_id: string;
  event: string;
  state: string;
  attempts: number;
  lastAttemptAt: string | null;
  lastStatus: number | null;
  lastError: string | null;
  nextAttemptAt: string | null;
}

interface DeliveryPage {
  data: Delivery[];
  nextCursor: string | null;
}

interface Recovered {
  queued: number;
  hasMore: boolean;
  last: string | null;
}

interface DeliveriesOptions extends WhoseOptions {
  state?: string;
  limit?: string;
  cursor?: string;
}

const states = ["pending", "delivered", "failed", "none"];

/** What was delivered, whether anything would be, and again. */
export function deliveryCommands(webhook: Command): void {
  reporting(
    ofEndpoint(webhook.command("test [endpoint]")).description(
      "deliver one signed webhook.test event now, and tell what came of it",
    ),
    async (endpoint: string | undefined, whose: WhoseOptions) => {
      const tested =
        endpoint === undefined
          ? ((await admin({ operation: "webhook test", arguments: { account: whose.account } })) as Tested)
          : await serverOf(whose).ask<Tested>("POST", pathOf("webhooks", endpoint, "/test"));
      if (!tested.delivered) process.exitCode = 1;
      return tested;
    },
  );
  reporting(
    ofEndpoint(webhook.command("deliveries <id>"))
      .description(
        "of an event: list the attempts to deliver it, the first first, the last 100 are kept; of an endpoint: what became of its events, the newest first",
      )
      .addOption(new Option("--state <state>", "of an endpoint: only events in this state").choices(states))
      .option("--limit <number>", "of an endpoint: how many, 1 to 100 (default: 50)")
      .option("--cursor <cursor>", "of an endpoint: where the list before ended"),
    async (id: string, options: DeliveriesOptions) =>
      isEndpointId(id) ? deliveriesTo(id, options) : attemptsOf(id, options),
    (made, calendar) => {
      if (Array.isArray(made)) {
        const isOfSeveral = new Set(made.map(({ webhookId }) => webhookId)).size > 1;
        return made.map(({ attempt, attemptedAt, status, latencyMs, error, webhookId }) => {
          const time = shortTime(attemptedAt, calendar);
          return { attempt, time, status, ms: latencyMs, error, ...(isOfSeveral && { "endpoint id": webhookId }) };
        });
      }
      if (made.nextCursor !== null) tellMoreBy(`--cursor ${made.nextCursor}`);
      return made.data.map(
        ({ event, state, attempts, lastAttemptAt, lastStatus, lastError, nextAttemptAt, event_id }) => {
          const tried = { attempts, last: shortTime(lastAttemptAt, calendar), status: lastStatus, error: lastError };
          return { event, state, ...tried, next: shortTime(nextAttemptAt, calendar), id: event_id };
        },
      );
    },
  );
  reporting(
    ofEndpoint(webhook.command("redeliver <event> [endpoint]")).description(
      "put an event in line to be delivered once more",
    ),
    async (event: string, endpoint: string | undefined, whose: WhoseOptions) => {
      if (endpoint === undefined)
        return admin({ operation: "webhook redeliver", arguments: { event, account: whose.account } });
      const body = { webhookId: endpoint };
      const api = serverOf(whose);
      const { status } = await api.ask<{ status: string }>("POST", pathOf("events", event, "/redeliver"), { body });
      return { event, webhookId: endpoint, status };
    },
  );
  reporting(
    ofServer(webhook.command("recover <endpoint>"))
      .description("put in line, in order, all that an endpoint wants and never answered with 2xx")
      .requiredOption("--after <place>", "of what came behind this event; or start, of all that the log has"),
    (endpoint: string, { after, ...server }: ServerOptions & { after: string }) =>
      recover(apiClient(server), endpoint, after),
    ({ queued, hasMore, last }) => {
      if (hasMore) tellMoreBy(`--after ${last ?? "start"}`);
      return { queued, last };
    },
  );
}

async function attemptsOf(event: string, { account, state, limit, cursor }: DeliveriesOptions): Promise<Attempt[]> {
  if ([state, limit, cursor].some((option) => option !== undefined))
    throw new UsageError("Cannot use --state, --limit or --cursor with an event: they are of an endpoint's deliveries");
  return (await admin({ operation: "webhook deliveries", arguments: { event, account } })) as Attempt[];
}

/** One call looks at a thousand events, of which few or none may be such: the next ones are looked at until there are enough. */
async function deliveriesTo(
  endpoint: string,
  { state, limit = "50", cursor, ...whose }: DeliveriesOptions,
): Promise<DeliveryPage> {
  const wanted = /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (wanted < 1 || wanted > 100)
    throw new UsageError("Cannot list deliveries: --limit must be a whole number from 1 to 100");
  const api = serverOf(whose);
  const data: Delivery[] = [];
  let next: string | null | undefined = cursor;
  do {
    const query: Record<string, string | number | undefined> = { state, limit: wanted - data.length, cursor: next };
    const page: DeliveryPage = await api.ask("GET", pathOf("webhooks", endpoint, "/deliveries"), { query });
    data.push(...page.data);
    next = page.nextCursor;
  } while (next !== null && data.length < wanted);
  return { data, nextCursor: next };
}

/** Goes on until all was looked at, or as many calls as the API takes in a minute. What is left then is for another run. */
async function recover(api: ApiClient, endpoint: string, after: string): Promise<Recovered> {
  let queued = 0;
  for (let place = after; ; ) {
    const body = { after: place };
    let step: Recovered;
    try {
      step = await api.ask<Recovered>("POST", pathOf("webhooks", endpoint, "/recover"), { body });
    } catch (error) {
      if (place === after || !(error instanceof ApiProblem) || error.code !== "rate_limit_exceeded") throw error;
      return { queued, hasMore: true, last: place };
    }
    queued += step.queued;
    if (!step.hasMore || step.last === null || step.last === place) return { ...step, queued };
    place = step.last;
  }
}
