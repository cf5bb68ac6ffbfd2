import { InvalidArgumentError } from "commander";
import { checkWebhookUrl } from "../../domain/events/webhook-url.ts";

/** Refuses what can't be one anywhere. Whether it may be this one is for the service to say, whose setting it is. */
export function webhookUrl(text: string): string {
  const url = checkWebhookUrl(text, { allowPrivate: true });
  if (typeof url === "string") throw new InvalidArgumentError(`It ${url}.`);
  return text;
}
