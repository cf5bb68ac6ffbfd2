import { checkWebhookUrl, hostOf, portOf } from "../../domain/events/webhook-url.ts";
import { isIpAddress, isPublicAddress } from "../../standards/ip.ts";
import { dial } from "../../webhook/connection.ts";
import { type Lookup, resolver, systemLookup } from "../../webhook/resolve.ts";
import { type Finding, findingsOf } from "./finding.ts";

export interface WebhookQuestion {
  urls: readonly string[];
  allowPrivate: boolean;
  lookup?: Lookup;
  /** PEM of the trusted authorities, in place of the system's. */
  ca?: string | undefined;
  timeoutMs?: number;
}

/** Checks that the receivers of events accept connections. Sends no request, because some receivers refuse an empty one. */
export async function checkWebhooks(question: WebhookQuestion): Promise<Finding[]> {
  const { ok } = findingsOf("webhook");
  const urls = [...new Set(question.urls)];
  if (urls.length === 0) return [ok("none is set: events are in the log, GET /v1/events")];
  return Promise.all(urls.map((url) => checkWebhook(url, question)));
}

/** Checks that a program of the operator accepts connections. Finds nothing if there is none. */
export async function checkProgram(
  check: Exclude<keyof typeof advice, "webhook">,
  url: string | undefined,
  question: Pick<WebhookQuestion, "lookup" | "ca" | "timeoutMs">,
): Promise<Finding[]> {
  return url === undefined ? [] : [await checkWebhook(url, { ...question, allowPrivate: true }, check)];
}

const advice = {
  webhook: "Check that the receiver runs, and its certificate",
  judge: "Check that it runs, and its certificate: mail is not judged meanwhile",
  traces: "Check that the collector runs, and its certificate: traces are lost meanwhile",
};

async function checkWebhook(
  text: string,
  question: Omit<WebhookQuestion, "urls">,
  check: keyof typeof advice = "webhook",
): Promise<Finding> {
  const { ok, fail } = findingsOf(check);
  const { allowPrivate, lookup = systemLookup, ca, timeoutMs = 5_000 } = question;
  const url = checkWebhookUrl(text, { allowPrivate });
  if (typeof url === "string") return fail(`the URL ${url}`, "Set a valid one");
  // Only the origin is shown, because the path may contain a secret of the receiver.
  const origin = url.origin;
  const host = hostOf(url);
  const addresses = await resolver(lookup)(host);
  if (typeof addresses === "string") return fail(`${origin}: ${addresses}`, "Check the name of the host");
  const permits = allowPrivate ? isIpAddress : isPublicAddress;
  const forbidden = addresses.find((address) => !permits(address));
  if (forbidden !== undefined) {
    return fail(
      `${origin} has the address ${forbidden}, which is not public: nothing is delivered there`,
      "Give the receiver a public address, or set ALLOW_PRIVATE_WEBHOOKS=1 if all receivers are yours",
    );
  }
  const troubles: string[] = [];
  for (const address of addresses) {
    const tlsHost = url.protocol === "https:" ? host : undefined;
    const dialling = dial({ address, port: portOf(url), tlsHost, ca });
    const timer = setTimeout(dialling.cancel, timeoutMs);
    const connection = await dialling.connected;
    clearTimeout(timer);
    if (typeof connection !== "string") {
      connection.destroy();
      return ok(`${origin} accepts connections`);
    }
    troubles.push(`${address}: ${connection}`);
  }
  return fail(`${origin} cannot be reached (${troubles.join("; ")})`, advice[check]);
}
