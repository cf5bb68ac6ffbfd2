import { type Command, InvalidArgumentError } from "commander";
import type { Inboxd, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { checkWebhookUrl } from "../../domain/events/webhook-url.ts";
import { type OfAccount, ofAccount } from "../cli.ts";
import { clientOf, ofServer, type ServerOptions } from "../client.ts";
import { UsageError } from "../failure.ts";
import { type Calendar, fullTime } from "../short-time.ts";

export type Endpoint = Schemas["WebhookEndpoint"] & Pick<Schemas["CreatedWebhookEndpoint"], "secret">;

export interface EndpointOptions extends OfAccount, ServerOptions {}

/**
 * Adds the options of a command that works on the default endpoint unless another is named. The default endpoint is reached
 * through the operator's database, without a key. A named endpoint is reached through the API, as the account of the key.
 */
export function ofEndpoint(command: Command): Command {
  return ofServer(ofAccount(command));
}

/** The client for a named endpoint. */
export function endpointClient({ account, ...server }: EndpointOptions): Inboxd {
  if (account === undefined) return clientOf(server);
  throw new UsageError("Cannot use --account with the id of an endpoint: its account is that of the API key");
}

export function isEndpointId(id: string): boolean {
  return id.startsWith("whk_");
}

export async function removeEndpoint(client: Inboxd, id: string): Promise<object> {
  const { url } = await client.webhooks.get(id);
  await client.webhooks.delete(id);
  return { id, url, deleted: true };
}

/** Refuses a text that cannot be a webhook address. The service decides whether it allows this address. */
export function webhookUrl(text: string): string {
  const url = checkWebhookUrl(text, { allowPrivate: true });
  if (typeof url === "string") throw new InvalidArgumentError(`It ${url}.`);
  return text;
}

/** An endpoint as fields for a person. */
export function shownEndpoint(endpoint: Endpoint, calendar: Calendar): object {
  const { secret, secretLast4 } = endpoint;
  return {
    id: endpoint.id,
    url: endpoint.url,
    description: endpoint.description,
    types: endpoint.eventTypes.join(", "),
    inboxes: endpoint.inboxIds?.join(", ") ?? "all",
    skipAutomated: endpoint.skipAutomated,
    include: endpoint.include.join(", "),
    externalIds: endpoint.externalIds?.join(", ") ?? "all",
    headers: endpoint.headers.join(", "),
    default: endpoint.isDefault,
    ...(secret === undefined ? { secretLast4 } : { secret }),
    created: fullTime(endpoint.createdAt, calendar),
    disabled: fullTime(endpoint.disabledAt, calendar),
    reason: endpoint.disabledReason,
    failingSince: fullTime(endpoint.failingSince, calendar),
    lastDelivery: shownLastDelivery(endpoint.lastDelivery, calendar),
  };
}

/** The last attempt in one line; undefined if there was none. */
export function shownLastDelivery(last: Endpoint["lastDelivery"], calendar: Calendar): string | undefined {
  return last === null ? undefined : `${fullTime(last.at, calendar)}: ${last.error ?? "delivered"}, ${last.event_id}`;
}
