import { transaction } from "../../database/db.ts";
import type { Actor, ActorIn } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { neverTried, usualSettings, withChange } from "../../domain/events/endpoint.ts";
import { checkWebhookUrl } from "../../domain/events/webhook-url.ts";
import { newWebhookSecret } from "../../standards/signature.ts";
import {
  type Endpoint,
  type EndpointName,
  findEndpoint,
  insertEndpoint,
  lockEndpoint,
  markEndpointChanged,
  markEndpointSecretRotated,
  removeEndpoint,
  type TriedEndpoint,
} from "../../store/events/endpoints.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

export interface WebhookSettingsDeps extends Deps {
  allowPrivateWebhooks: boolean;
}

/** Makes a default endpoint, for the first start, or for the first request that sets its URL. */
export function newDefaultEndpoint(
  deps: Pick<Deps, "now" | "newId" | "sealing">,
  { accountId, url, secret }: Pick<Endpoint, "accountId" | "url" | "secret">,
): Endpoint {
  const createdAt = deps.now();
  const id = deps.newId("whk", createdAt);
  return {
    ...usualSettings,
    ...neverTried,
    id,
    accountId,
    isDefault: true,
    url,
    secret: deps.sealing.seal(secret, id),
    previousSecret: null,
    previousSecretUntil: null,
    createdAt,
  };
}

/** Sets the URL of the default endpoint. Returns its secret if it had no URL before. */
export async function setWebhookUrl(
  deps: WebhookSettingsDeps,
  { accountId, actor }: ActorIn,
  url: string,
): Promise<{ webhook: TriedEndpoint; secret: string | undefined }> {
  refuseBadUrl(deps, url, "set webhook");
  const made = newDefaultEndpoint(deps, { accountId, url: null, secret: newWebhookSecret(deps.randomBytes) });
  return transaction(deps.db.api, async (tx) => {
    for (;;) {
      await insertEndpoint(tx, made);
      const before = await lockEndpoint(tx, { accountId, isDefault: true });
      // The endpoint is missing if another request deleted it after the insert. Then this tries again.
      if (before === undefined) continue;
      const webhook = withChange(before, { url, disabled: false }, made.createdAt);
      await markEndpointChanged(tx, webhook);
      await audit(tx, deps, made.createdAt, {
        action: before.url === null ? "webhook.created" : "webhook.changed",
        accountId,
        actor,
        target: { type: "webhook", id: webhook.id },
        details: { host: hostOf(webhook) },
      });
      return { webhook, secret: before.url === null ? secretOf(deps, webhook) : undefined };
    }
  });
}

export function refuseBadUrl({ allowPrivateWebhooks }: WebhookSettingsDeps, url: string, doing: string): void {
  const checked = checkWebhookUrl(url, { allowPrivate: allowPrivateWebhooks });
  if (typeof checked !== "string") return;
  throw new Refusal("invalid_webhook_url", `Cannot ${doing}: "url" ${checked}`, {
    faults: [{ pointer: "#/url", detail: checked }],
  });
}

/** The host of an endpoint's URL, for the audit: other parts of a URL may have secrets. */
export function hostOf({ url }: Pick<Endpoint, "url">): string | null {
  return url === null ? null : new URL(url).host;
}

/** Deletes the default endpoint, if there is one. */
export async function unsetWebhook(deps: Deps, { accountId, actor }: ActorIn): Promise<void> {
  await removeEndpointAs(deps, actor, { accountId, isDefault: true });
}

/** Deletes an endpoint. Returns false if there is none. */
export async function removeEndpointAs(deps: Deps, actor: Actor, name: EndpointName): Promise<boolean> {
  return transaction(deps.db.api, async (tx) => {
    const id = await removeEndpoint(tx, name);
    if (id === undefined) return false;
    await audit(tx, deps, deps.now(), {
      action: "webhook.deleted",
      accountId: name.accountId,
      actor,
      target: { type: "webhook", id },
    });
    return true;
  });
}

/**
 * Gives an endpoint a new secret, and returns it. The old one stays valid beside it for `overlapSeconds`, so that the receiver has time to
 * change.
 */
export async function rotateWebhookSecret(
  deps: Deps,
  actor: Actor,
  name: EndpointName,
  overlapSeconds: number,
): Promise<string> {
  const { db, sealing } = deps;
  const secret = newWebhookSecret(deps.randomBytes);
  const at = deps.now();
  const until = new Date(at.getTime() + overlapSeconds * 1000);
  return transaction(db.api, async (tx) => {
    const endpoint = await findEndpoint(tx, name);
    const isRotated =
      endpoint !== undefined &&
      (await markEndpointSecretRotated(tx, endpoint, sealing.seal(secret, endpoint.id), until));
    if (!isRotated) throw "id" in name ? notFound("webhook") : noWebhookUrl("rotate the secret");
    await audit(tx, deps, at, {
      action: "webhook.secret_rotated",
      accountId: name.accountId,
      actor,
      target: { type: "webhook", id: endpoint.id },
      details: { overlapSeconds },
    });
    return secret;
  });
}

/** The secret of an endpoint, opened. */
export function secretOf({ sealing }: Pick<Deps, "sealing">, { id, secret }: Pick<Endpoint, "id" | "secret">): string {
  return sealing.open(secret, id);
}

/** Finds the default endpoint of an account, and refuses if it has no URL. */
export async function webhookWithUrl(
  deps: Deps,
  accountId: string,
  doing: string,
): Promise<Endpoint & { url: string }> {
  const webhook = await findEndpoint(deps.db.api, { accountId, isDefault: true });
  if (webhook === undefined || webhook.url === null) throw noWebhookUrl(doing);
  return { ...webhook, url: webhook.url };
}

export function noWebhookUrl(doing: string): Refusal {
  return new Refusal("no_webhook_url", `Cannot ${doing}: no webhook URL is set`);
}
