import { type Db, transaction } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { checkWebhookUrl } from "../../domain/events/webhook-url.ts";
import { newWebhookSecret } from "../../standards/signature.ts";
import {
  findWebhook,
  insertWebhook,
  lockWebhook,
  markSecretRotated,
  markWebhookUrl,
  removeWebhook,
  type Webhook,
} from "../../store/events/webhooks.ts";
import type { Deps } from "../deps.ts";

export interface WebhookSettingsDeps extends Deps {
  allowPrivateWebhooks: boolean;
}

/** The webhook, and its secret the first time that it has an address. */
export async function setWebhookUrl(
  deps: WebhookSettingsDeps,
  accountId: string,
  url: string,
): Promise<{ webhook: Webhook; secret: string | undefined }> {
  refuseBadUrl(deps, url, "set webhook");
  const made = { accountId, url, secret: newWebhookSecret(deps.randomBytes), createdAt: deps.now() };
  return transaction(deps.db.api, async (tx) => {
    const before = await insertedOrLocked(tx, { ...made, url: null });
    const webhook = await markWebhookUrl(tx, accountId, url);
    if (webhook === undefined) throw new Error("Cannot set webhook: it went away behind its lock");
    return { webhook, secret: before.url === null ? webhook.secret : undefined };
  });
}

export function refuseBadUrl({ allowPrivateWebhooks }: WebhookSettingsDeps, url: string, doing: string): void {
  const checked = checkWebhookUrl(url, { allowPrivate: allowPrivateWebhooks });
  if (typeof checked !== "string") return;
  throw new Refusal("invalid_webhook_url", `Cannot ${doing}: "url" ${checked}`, {
    faults: [{ pointer: "#/url", detail: checked }],
  });
}

/** The account's webhook, which nobody else changes until the end of the transaction. Who deletes it between the two steps has it made anew. */
async function insertedOrLocked(tx: Db, made: Parameters<typeof insertWebhook>[1]): Promise<Webhook> {
  for (;;) {
    await insertWebhook(tx, made);
    const webhook = await lockWebhook(tx, made.accountId);
    if (webhook !== undefined) return webhook;
  }
}

/** No more events are delivered. Nothing happens where there is none. */
export async function unsetWebhook(deps: Deps, accountId: string): Promise<void> {
  await removeWebhook(deps.db.api, accountId);
}

/** A new secret. The old one stays valid beside it for the overlap, in which the receiver learns the new one. */
export async function rotateWebhookSecret(deps: Deps, accountId: string, overlapSeconds: number): Promise<string> {
  const secret = newWebhookSecret(deps.randomBytes);
  const until = new Date(deps.now().getTime() + overlapSeconds * 1000);
  if (!(await markSecretRotated(deps.db.api, accountId, secret, until))) throw noWebhookUrl("rotate the secret");
  return secret;
}

/** The webhook that an account has set an address for. */
export async function webhookWithUrl(deps: Deps, accountId: string, doing: string): Promise<Webhook & { url: string }> {
  const webhook = await findWebhook(deps.db.api, accountId);
  if (webhook === undefined || webhook.url === null) throw noWebhookUrl(doing);
  return { ...webhook, url: webhook.url };
}

export function noWebhookUrl(doing: string): Refusal {
  return new Refusal("no_webhook_url", `Cannot ${doing}: no webhook URL is set`);
}
