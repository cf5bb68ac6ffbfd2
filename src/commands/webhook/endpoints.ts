import { type Command, InvalidArgumentError, Option } from "commander";
import type { Inboxd, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { reporting } from "../cli.ts";
import { clientOf, ofServer, type ServerOptions, seenByOthers } from "../client.ts";
import { UsageError } from "../failure.ts";
import { inboxIdsOf, itemsOf, ofSubscription, type SubscriptionOptions } from "../subscription.ts";
import { deliveryCommands } from "./deliveries.ts";
import { type Endpoint, removeEndpoint, shownEndpoint, webhookUrl } from "./endpoint.ts";
import { settingCommands } from "./settings.ts";

interface AddOptions extends ServerOptions, SubscriptionOptions {
  description?: string;
  header?: Record<string, string>;
  key?: string;
}

interface ChangeOptions extends ServerOptions, SubscriptionOptions {
  to?: string;
  /** False with `--no-description`. */
  description?: string | false;
  /** False with `--no-header`. */
  header?: Record<string, string> | false;
  allInboxes?: boolean;
  enable?: boolean;
  disable?: boolean;
}

export function webhookCommands(program: Command): void {
  const webhook = program.command("webhook").description("manage the endpoints that receive an account's events");
  endpointCommands(webhook);
  settingCommands(webhook);
  deliveryCommands(webhook);
}

/** The commands for all endpoints of an account, over the API. */
function endpointCommands(webhook: Command): void {
  reporting(
    ofServer(webhook.command("list")).description("list the endpoints of an account, oldest first"),
    async (server: ServerOptions) => (await clientOf(server).webhooks.list()).data,
    (endpoints) =>
      endpoints.map((endpoint) => {
        const { id, url, description, eventTypes, inboxIds, isDefault } = endpoint;
        return {
          url,
          description,
          types: eventTypes.join(),
          inboxes: inboxIds?.length ?? "all",
          default: isDefault ? "yes" : "",
          state: stateOf(endpoint),
          id,
        };
      }),
  );
  reporting(
    ofSubscription(ofServer(webhook.command("add")))
      .argument("<url>", "https, or also http if ALLOW_PRIVATE_WEBHOOKS is 1", webhookUrl)
      .description("send events to one more address; prints its secret, which is shown only once")
      .option("--description <text>", "a note for you")
      .addOption(headerOption())
      .option("--key <key>", "idempotency key: a second call with the same key adds nothing"),
    add,
    shownEndpoint,
  );
  reporting(
    ofSubscription(ofServer(webhook.command("change <endpoint>")))
      .description(
        "change an endpoint; a setting without an option stays as it is, and --include none removes all further fields",
      )
      .addOption(new Option("--to <url>", "the new address").argParser(webhookUrl))
      .option("--description <text>", "a note for you")
      .option("--no-description", "remove the note")
      .addOption(headerOption())
      .option("--no-header", "send no header fields of your own")
      .option("--no-skip-automated", "send also mail that a program wrote")
      .addOption(new Option("--all-inboxes", "send events of all inboxes").conflicts(["inbox", "externalId"]))
      .option("--enable", "send events again")
      .addOption(new Option("--disable", "send no events").conflicts("enable")),
    change,
    shownEndpoint,
  );
  reporting(
    ofServer(webhook.command("remove <endpoint>")).description(
      "remove an endpoint with its secret and its pending deliveries; events stay in the log",
    ),
    (id: string, server: ServerOptions) => removeEndpoint(clientOf(server), id),
  );
}

async function add(url: string, { description, header, key, ...options }: AddOptions): Promise<Endpoint> {
  const client = clientOf(options);
  const subscription = await subscriptionOf(client, options);
  return client.webhooks.create({ url, description, headers: header, ...subscription }, { idempotencyKey: key });
}

async function change(id: string, options: ChangeOptions): Promise<Endpoint> {
  const client = clientOf(options);
  const { to, description, header, allInboxes, enable, disable } = options;
  const fields = {
    url: to,
    description: description === false ? null : description,
    headers: header === false ? {} : header,
    ...(await subscriptionOf(client, options)),
    ...(allInboxes && { inboxIds: null, externalIds: null }),
    disabled: disable ?? (enable ? false : undefined),
  };
  if (Object.values(fields).every((value) => value === undefined))
    throw new UsageError("Cannot change webhook: no option says what to change");
  return client.webhooks.change(id, fields);
}

/** A header field of an endpoint, which may be given several times. */
function headerOption(): Option {
  return new Option(
    "--header <field>",
    `a header field to send with each delivery, as 'Name: value'; repeat it for several ${seenByOthers}`,
  ).argParser((field: string, before: Record<string, string> | boolean | undefined) => {
    const [, name = "", value = ""] = /^([^:]*):[ \t]*(.*)$/s.exec(field) ?? [];
    if (name === "") throw new InvalidArgumentError("It must be 'Name: value'.");
    return { ...(typeof before === "object" && before), [name]: value };
  });
}

type Subscription = Pick<Schemas["NewWebhookEndpoint"], "eventTypes" | "include">;

/** Makes the request's fields from the options. The service checks the names of event types and fields. */
async function subscriptionOf(
  client: Inboxd,
  { types, inbox, externalId, skipAutomated, include }: SubscriptionOptions,
) {
  return {
    eventTypes: types === undefined ? undefined : (itemsOf(types) as Subscription["eventTypes"]),
    inboxIds: inbox === undefined ? undefined : await inboxIdsOf(client, inbox),
    externalIds: externalId === undefined ? undefined : itemsOf(externalId),
    skipAutomated,
    include: include === undefined ? undefined : (includedBy(include) as Subscription["include"]),
  };
}

function includedBy(list: string): string[] {
  return list === "none" ? [] : itemsOf(list);
}

function stateOf({ disabledAt, disabledReason, failingSince }: Endpoint): string {
  if (disabledAt !== null) return `off: ${disabledReason}`;
  return failingSince === null ? "on" : "failing";
}
