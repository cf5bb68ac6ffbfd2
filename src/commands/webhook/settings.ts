import { type Command, InvalidArgumentError } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { admin } from "../admin.ts";
import { reporting } from "../cli.ts";
import { fullTime } from "../short-time.ts";
import {
  type EndpointOptions,
  endpointClient,
  ofEndpoint,
  removeEndpoint,
  shownEndpoint,
  shownLastDelivery,
  webhookUrl,
} from "./endpoint.ts";

type SetWebhook = Pick<Schemas["WebhookWithSecret"], "url" | "secretLast4" | "secret">;

/** The commands for the address and the secret of one endpoint. */
export function settingCommands(webhook: Command): void {
  reporting(
    ofEndpoint(webhook.command("show [endpoint]")).description("print the address, or all fields of a named endpoint"),
    async (endpoint: string | undefined, target: EndpointOptions) =>
      endpoint === undefined
        ? ((await admin({ operation: "webhook show", arguments: { account: target.account } })) as Schemas["Webhook"])
        : endpointClient(target).webhooks.get(endpoint),
    (made, calendar) => {
      if ("id" in made) return shownEndpoint(made, calendar);
      const { createdAt, disabledAt, lastDelivery, ...webhook } = made;
      return {
        ...webhook,
        createdAt: fullTime(createdAt, calendar),
        disabledAt: fullTime(disabledAt, calendar),
        lastDelivery: shownLastDelivery(lastDelivery, calendar),
      };
    },
  );
  reporting(
    ofEndpoint(webhook.command("set"))
      .argument("<url>", "https, or also http if ALLOW_PRIVATE_WEBHOOKS is 1", webhookUrl)
      .argument("[endpoint]", "its id (default: the default endpoint)")
      .description("send events to this address; prints the secret if there was no address before"),
    async (url: string, endpoint: string | undefined, target: EndpointOptions): Promise<SetWebhook> =>
      endpoint === undefined
        ? ((await admin({ operation: "webhook set", arguments: { url, account: target.account } })) as SetWebhook)
        : endpointClient(target).webhooks.change(endpoint, { url }),
    ({ url, secret, secretLast4 }, _calendar, _url, endpoint) => {
      const rotate = ["inboxd webhook rotate", endpoint ?? []].flat().join(" ");
      return { url, secret: secret ?? `as before, it ends in ${secretLast4}; ${rotate} makes a new one` };
    },
  );
  reporting(
    ofEndpoint(webhook.command("rotate [endpoint]"))
      .description("create a new secret and print it once; the old one stays valid for a day")
      .option("--overlap-seconds <seconds>", "how long the old one stays valid; 0 if it has leaked", overlap, "86400"),
    rotate,
    ({ secret, overlapSeconds }) => ({
      secret,
      before: overlapSeconds === 0 ? "signs nothing from now on" : `also signs for ${overlapSeconds} s more`,
    }),
  );
  reporting(
    ofEndpoint(webhook.command("delete [endpoint]")).description(
      "remove the address and the secret, and deliver nothing more; events stay in the log",
    ),
    async (endpoint: string | undefined, target: EndpointOptions) =>
      endpoint === undefined
        ? admin({ operation: "webhook delete", arguments: { account: target.account } })
        : removeEndpoint(endpointClient(target), endpoint),
  );
}

interface RotateOptions extends EndpointOptions {
  overlapSeconds: string;
}

async function rotate(endpoint: string | undefined, { overlapSeconds, ...target }: RotateOptions) {
  const seconds = Number(overlapSeconds);
  const made =
    endpoint === undefined
      ? await admin({ operation: "webhook rotate", arguments: { account: target.account, overlapSeconds } })
      : await endpointClient(target).webhooks.rotateSecret(endpoint, { overlapSeconds: seconds });
  return { ...(made as Schemas["WebhookSecret"]), overlapSeconds: seconds };
}

/** Checks a number of seconds against the range of the API. */
function overlap(text: string): string {
  if (/^\d{1,6}$/.test(text) && Number(text) <= 604_800) return text;
  throw new InvalidArgumentError("It must be 0 to 604800 whole seconds.");
}
