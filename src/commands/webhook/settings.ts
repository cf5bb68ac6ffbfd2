import { type Command, InvalidArgumentError } from "commander";
import { admin } from "../admin.ts";
import { reporting } from "../cli.ts";
import { pathOf } from "../read/shapes.ts";
import { fullTime } from "../short-time.ts";
import { type Endpoint, ofEndpoint, serverOf, shownEndpoint, type WhoseOptions } from "./endpoint.ts";
import { removeEndpoint } from "./endpoints.ts";
import { webhookUrl } from "./url.ts";

interface ShownWebhook {
  url: string | null;
  secretLast4: string | null;
  createdAt: string | null;
  disabledAt: string | null;
}

interface SetWebhook {
  url: string;
  secretLast4: string;
  /** Shown where there was no address before. */
  secret?: string;
}

/** Address and secret of the default endpoint, or of the one that is named. */
export function settingCommands(webhook: Command): void {
  reporting(
    ofEndpoint(webhook.command("show [endpoint]")).description("print the address; of an endpoint all there is"),
    async (endpoint: string | undefined, whose: WhoseOptions) =>
      endpoint === undefined
        ? ((await admin({ operation: "webhook show", arguments: { account: whose.account } })) as ShownWebhook)
        : serverOf(whose).ask<Endpoint>("GET", pathOf("webhooks", endpoint)),
    (made, calendar) => {
      if ("id" in made) return shownEndpoint(made, calendar);
      const { createdAt, disabledAt, ...webhook } = made;
      return { ...webhook, createdAt: fullTime(createdAt, calendar), disabledAt: fullTime(disabledAt, calendar) };
    },
  );
  reporting(
    ofEndpoint(webhook.command("set"))
      .argument("<url>", "https, or http too where ALLOW_PRIVATE_WEBHOOKS is 1", webhookUrl)
      .argument("[endpoint]", "its id; the default one where left out")
      .description("send events to this address; where none was set, the secret is shown, later ones keep it"),
    async (url: string, endpoint: string | undefined, whose: WhoseOptions) =>
      endpoint === undefined
        ? ((await admin({ operation: "webhook set", arguments: { url, account: whose.account } })) as SetWebhook)
        : serverOf(whose).ask<SetWebhook>("PATCH", pathOf("webhooks", endpoint), { body: { url } }),
    ({ url, secret, secretLast4 }, _calendar, _url, endpoint) => {
      const rotate = ["inboxd webhook rotate", endpoint ?? []].flat().join(" ");
      return { url, secret: secret ?? `as before, it ends in ${secretLast4}; ${rotate} makes a new one` };
    },
  );
  reporting(
    ofEndpoint(webhook.command("rotate [endpoint]"))
      .description("make a new secret; it is shown this once, and the old one stays valid beside it for a day")
      .option("--overlap-seconds <seconds>", "that long instead; 0 when the old one has leaked", overlap, "86400"),
    rotate,
    ({ secret, overlapSeconds }) => ({
      secret,
      before: overlapSeconds === 0 ? "signs nothing from now on" : `signs beside it for ${overlapSeconds} s more`,
    }),
  );
  reporting(
    ofEndpoint(webhook.command("delete [endpoint]")).description(
      "deliver nothing from now on and forget the secret; events stay in the log",
    ),
    async (endpoint: string | undefined, whose: WhoseOptions) =>
      endpoint === undefined
        ? admin({ operation: "webhook delete", arguments: { account: whose.account } })
        : removeEndpoint(serverOf(whose), endpoint),
  );
}

interface RotateOptions extends WhoseOptions {
  overlapSeconds: string;
}

async function rotate(endpoint: string | undefined, { overlapSeconds, ...whose }: RotateOptions) {
  const seconds = Number(overlapSeconds);
  const made =
    endpoint === undefined
      ? await admin({ operation: "webhook rotate", arguments: { account: whose.account, overlapSeconds } })
      : await serverOf(whose).ask<object>("POST", pathOf("webhooks", endpoint, "/rotate-secret"), {
          body: { overlapSeconds: seconds },
        });
  return { ...(made as { secret: string }), overlapSeconds: seconds };
}

/** As the API takes it. */
function overlap(text: string): string {
  if (/^\d{1,6}$/.test(text) && Number(text) <= 604_800) return text;
  throw new InvalidArgumentError("It must be 0 to 604800 whole seconds.");
}
