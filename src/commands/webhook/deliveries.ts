import { type Command, Option } from "commander";
import { type Inboxd, InboxdError, type Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { admin } from "../admin.ts";
import { printMoreHint, reporting } from "../cli.ts";
import { clientOf, ofServer, type ServerOptions } from "../client.ts";
import { UsageError } from "../failure.ts";
import { shortTime } from "../short-time.ts";
import { type EndpointOptions, endpointClient, isEndpointId, ofEndpoint } from "./endpoint.ts";

type Delivery = Schemas["EndpointDelivery"];

interface DeliveriesOptions extends EndpointOptions {
  state?: Delivery["state"];
  limit?: string;
  cursor?: string;
}

const states: Delivery["state"][] = ["pending", "delivered", "failed", "none"];

/** The commands for deliveries: their results, a test, and repeating them. */
export function deliveryCommands(webhook: Command): void {
  reporting(
    ofEndpoint(webhook.command("test [endpoint]")).description(
      "deliver one signed webhook.test event now, and print the result",
    ),
    async (endpoint: string | undefined, target: EndpointOptions) => {
      const tested =
        endpoint === undefined
          ? ((await admin({
              operation: "webhook test",
              arguments: { account: target.account },
            })) as Schemas["WebhookTestResult"])
          : await endpointClient(target).webhooks.test(endpoint);
      if (!tested.delivered) process.exitCode = 1;
      return tested;
    },
  );
  reporting(
    ofEndpoint(webhook.command("deliveries <id>"))
      .description(
        "list the last 100 attempts to deliver an event, first attempt first; or the deliveries of an endpoint, newest event first",
      )
      .addOption(new Option("--state <state>", "for an endpoint: list only this state").choices(states))
      .option("--limit <number>", "for an endpoint: the most deliveries to list, 1 to 100 (default: 50)")
      .option("--cursor <cursor>", "for an endpoint: continue a list at this cursor"),
    async (id: string, options: DeliveriesOptions) =>
      isEndpointId(id) ? deliveriesTo(id, options) : attemptsOf(id, options),
    (made, calendar) => {
      if (Array.isArray(made)) {
        const areOfSeveral = new Set(made.map(({ webhookId }) => webhookId)).size > 1;
        return made.map(({ attempt, attemptedAt, status, latencyMs, error, webhookId }) => {
          const time = shortTime(attemptedAt, calendar);
          return { attempt, time, status, ms: latencyMs, error, ...(areOfSeveral && { "endpoint id": webhookId }) };
        });
      }
      if (made.nextCursor !== null) printMoreHint(`--cursor ${made.nextCursor}`);
      return made.data.map((delivery) => ({
        event: delivery.event,
        state: delivery.state,
        attempts: delivery.attempts,
        last: shortTime(delivery.lastAttemptAt, calendar),
        status: delivery.lastStatus,
        error: delivery.lastError,
        next: shortTime(delivery.nextAttemptAt, calendar),
        id: delivery.event_id,
      }));
    },
  );
  reporting(
    ofEndpoint(webhook.command("redeliver <event> [endpoint]")).description("deliver an event again"),
    async (event: string, endpoint: string | undefined, target: EndpointOptions) => {
      if (endpoint === undefined)
        return admin({ operation: "webhook redeliver", arguments: { event, account: target.account } });
      const { status } = await endpointClient(target).events.redeliver(event, { webhookId: endpoint });
      return { event, webhookId: endpoint, status };
    },
  );
  reporting(
    ofServer(webhook.command("recover <endpoint>"))
      .description("deliver, in order, all events of an endpoint that never succeeded")
      .requiredOption("--after <position>", "only events after this one, or start for the whole log"),
    (endpoint: string, { after, ...server }: ServerOptions & { after: string }) =>
      recover(clientOf(server), endpoint, after),
    ({ queued, hasMore, last }) => {
      if (hasMore) printMoreHint(`--after ${last ?? "start"}`);
      return { queued, last };
    },
  );
}

async function attemptsOf(
  event: string,
  { account, state, limit, cursor }: DeliveriesOptions,
): Promise<Schemas["Delivery"][]> {
  if ([state, limit, cursor].some((option) => option !== undefined))
    throw new UsageError(
      "Cannot use --state, --limit or --cursor with an event: they are for the deliveries of an endpoint",
    );
  return (await admin({ operation: "webhook deliveries", arguments: { event, account } })) as Schemas["Delivery"][];
}

/**
 * Fetches deliveries to an endpoint until there are `limit`. One page examines a thousand events, of which few or none may match, so this
 * may take several pages.
 */
async function deliveriesTo(
  endpoint: string,
  { state, limit = "50", cursor, ...target }: DeliveriesOptions,
): Promise<Schemas["EndpointDeliveryPage"]> {
  const wanted = /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (wanted < 1 || wanted > 100)
    throw new UsageError("Cannot list deliveries: --limit must be a whole number from 1 to 100");
  const client = endpointClient(target);
  const data: Delivery[] = [];
  let next: string | null | undefined = cursor;
  do {
    const query = { state, limit: wanted - data.length, cursor: next };
    const page: Schemas["EndpointDeliveryPage"] = await client.webhooks.deliveries(endpoint, query).page();
    data.push(...page.data);
    next = page.nextCursor;
  } while (next !== null && data.length < wanted);
  return { data, nextCursor: next };
}

/**
 * Queues the events after the event `after` again, up to the end of the log or until the rate limit of the API. Another run can continue
 * after `last`.
 */
async function recover(client: Inboxd, endpoint: string, after: string): Promise<Schemas["RecoveryResult"]> {
  let queued = 0;
  for (let position = after; ; ) {
    let step: Schemas["RecoveryResult"];
    try {
      step = await client.webhooks.recover(endpoint, { after: position });
    } catch (error) {
      const isOverLimit = error instanceof InboxdError && error.code === "rate_limit_exceeded";
      if (position === after || !isOverLimit) throw error;
      return { queued, hasMore: true, last: position };
    }
    queued += step.queued;
    if (!step.hasMore || step.last === null || step.last === position) return { ...step, queued };
    position = step.last;
  }
}
