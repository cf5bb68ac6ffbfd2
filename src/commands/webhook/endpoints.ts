import { type Command, Option } from "commander";
import { type ApiClient, apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { UsageError } from "../failure.ts";
import { pathOf } from "../read/shapes.ts";
import { inboxIdsOf, ofSubscription, type SubscriptionOptions, wordsOf } from "../stream/subscription.ts";
import { type Endpoint, shownEndpoint } from "./endpoint.ts";
import { webhookUrl } from "./url.ts";

interface AddOptions extends ServerOptions, SubscriptionOptions {
  description?: string;
  key?: string;
}

interface ChangeOptions extends ServerOptions, SubscriptionOptions {
  to?: string;
  /** False for none. */
  description?: string | false;
  allInboxes?: boolean;
  enable?: boolean;
  disable?: boolean;
}

/** All places of an account that events go to, over the API. */
export function endpointCommands(webhook: Command): void {
  reporting(
    ofServer(webhook.command("list")).description("list the endpoints of an account, the oldest first"),
    async (server: ServerOptions) => (await apiClient(server).ask<{ data: Endpoint[] }>("GET", "/v1/webhooks")).data,
    (endpoints) =>
      endpoints.map((endpoint) => {
        const { id, url, description, eventTypes, inboxIds, isDefault } = endpoint;
        const inboxes = inboxIds?.length ?? "all";
        const common = { url, description, types: eventTypes.join(), inboxes };
        return { ...common, default: isDefault ? "yes" : "", state: stateOf(endpoint), id };
      }),
  );
  reporting(
    ofSubscription(ofServer(webhook.command("add")))
      .argument("<url>", "https, or http too where ALLOW_PRIVATE_WEBHOOKS is 1", webhookUrl)
      .description("send events to one more address, signed with a secret of its own, which is shown this once")
      .option("--description <text>", "your own words")
      .option("--key <key>", "repeated with the same key it adds no second one"),
    add,
    shownEndpoint,
  );
  reporting(
    ofSubscription(ofServer(webhook.command("change <endpoint>")))
      .description(
        "change what an endpoint gets, and whether it gets it; what is not named stays, --include none takes that away",
      )
      .addOption(new Option("--to <url>", "another address").argParser(webhookUrl))
      .option("--description <text>", "your own words")
      .option("--no-description", "none any more")
      .option("--no-skip-automated", "with mail that a program wrote")
      .addOption(new Option("--all-inboxes", "of every inbox again").conflicts("inbox"))
      .option("--enable", "promise it events again")
      .addOption(new Option("--disable", "promise it nothing any more").conflicts("enable")),
    change,
    shownEndpoint,
  );
  reporting(
    ofServer(webhook.command("remove <endpoint>")).description(
      "take an endpoint away, with what is in line for it and its secret; events stay in the log",
    ),
    (id: string, server: ServerOptions) => removeEndpoint(apiClient(server), id),
  );
}

export async function removeEndpoint(api: ApiClient, id: string): Promise<object> {
  const { url } = await api.ask<Endpoint>("GET", pathOf("webhooks", id));
  await api.ask("DELETE", pathOf("webhooks", id));
  return { id, url, deleted: true };
}

async function add(url: string, { description, key, ...options }: AddOptions): Promise<Endpoint> {
  const api = apiClient(options);
  const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
  const body = { url, description, ...(await subscriptionOf(api, options)) };
  return api.ask<Endpoint>("POST", "/v1/webhooks", { body, headers });
}

async function change(id: string, options: ChangeOptions): Promise<Endpoint> {
  const api = apiClient(options);
  const { to, description, allInboxes, enable, disable } = options;
  const body = {
    url: to,
    description: description === false ? null : description,
    ...(await subscriptionOf(api, options)),
    ...(allInboxes && { inboxIds: null }),
    disabled: disable ?? (enable ? false : undefined),
  };
  if (Object.values(body).every((value) => value === undefined))
    throw new UsageError("Cannot change webhook: nothing is named that shall be different");
  return api.ask<Endpoint>("PATCH", pathOf("webhooks", id), { body });
}

async function subscriptionOf(api: ApiClient, { types, inbox, skipAutomated, include }: SubscriptionOptions) {
  return {
    eventTypes: types === undefined ? undefined : wordsOf(types),
    inboxIds: inbox === undefined ? undefined : await inboxIdsOf(api, inbox),
    skipAutomated,
    include: include === undefined ? undefined : includedBy(include),
  };
}

function includedBy(list: string): string[] {
  return list === "none" ? [] : wordsOf(list);
}

function stateOf({ disabledAt, disabledReason, failingSince }: Endpoint): string {
  if (disabledAt !== null) return `off: ${disabledReason}`;
  return failingSince === null ? "on" : "failing";
}
