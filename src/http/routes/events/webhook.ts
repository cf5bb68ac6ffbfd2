import { Type } from "@sinclair/typebox";
import {
  rotateWebhookSecret,
  setWebhookUrl,
  unsetWebhook,
  type WebhookSettingsDeps,
} from "../../../flows/events/manage-webhook.ts";
import { testWebhook } from "../../../flows/events/test-webhook.ts";
import { shownWebhook } from "../../../flows/read/shown-webhook.ts";
import { findEndpoint } from "../../../store/events/endpoints.ts";
import type { WebhookClient } from "../../../webhook/client.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { instant, nothing, nullable } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import {
  defaultOverlapSeconds,
  lastDelivery,
  lastDeliveryOfNew,
  SecretRotation,
  WebhookSecret,
  WebhookTestResult,
  webhookSecret,
  webhookUrl,
} from "./webhook-shapes.ts";

export interface WebhookDeps extends WebhookSettingsDeps {
  webhooks: WebhookClient;
}

const webhookFields = {
  url: nullable(Type.String({ examples: [examples.webhookUrl] }), { description: "Where events go" }),
  secretLast4: nullable(Type.String({ examples: [examples.secret.slice(-4)] }), {
    description: "The end of the secret, to tell secrets apart",
  }),
  createdAt: nullable(instant({ examples: [examples.inboxCreatedAt] }), { description: "When it was first set" }),
  disabledAt: nullable(instant(), {
    description: "When the receiver answered 410; nothing has been delivered since then",
    examples: [null],
  }),
};

const WebhookShape = named(
  "Webhook",
  Type.Object(
    { ...webhookFields, lastDelivery },
    { description: "Where the account's events go. All fields are null if no webhook was ever set" },
  ),
);

const WebhookWithSecret = named(
  "WebhookWithSecret",
  Type.Object(
    { ...webhookFields, secret: Type.Optional(webhookSecret), lastDelivery: lastDeliveryOfNew },
    { description: "The webhook, and its secret if it was created just now" },
  ),
);

const WebhookAddress = named(
  "WebhookAddress",
  Type.Object(
    {
      url: webhookUrl,
    },
    { description: "Where events go" },
  ),
);

/** The default webhook endpoint of an account (contract §3.5). */
export function webhook(deps: WebhookDeps) {
  return api("/v1/webhook", "Webhooks")
    .get(
      "",
      async ({ account }) =>
        shownWebhook(deps, await findEndpoint(deps.db.api, { accountId: account.id, isDefault: true })),
      operation({
        summary: "Get webhook",
        access: "account",
        description: "Where the account's events go. All fields are null if no webhook was ever set.",
        answers: { 200: WebhookShape },
      }),
    )
    .put(
      "",
      async ({ account, actor, body }) => {
        const set = await setWebhookUrl(deps, { accountId: account.id, actor }, body.url);
        const { lastDelivery, ...webhook } = shownWebhook(deps, set.webhook);
        return { ...webhook, ...(set.secret !== undefined && { secret: set.secret }), lastDelivery };
      },
      operation({
        summary: "Set webhook",
        access: "account",
        description:
          "Sets where events go from now on, and enables a disabled webhook. The first time the answer has the secret.",
        body: WebhookAddress,
        answers: {
          200: WebhookWithSecret,
        },
        refuses: ["invalid_webhook_url"],
      }),
    )
    .delete(
      "",
      async ({ account, actor, set }) => {
        await unsetWebhook(deps, { accountId: account.id, actor });
        set.status = 204;
      },
      operation({
        summary: "Delete webhook",
        access: "account",
        description: "From now on nothing is delivered, and the secret is deleted. Events stay in the log.",
        answers: { 204: nothing("Deleted") },
      }),
    )
    .post(
      "/rotate-secret",
      async ({ account, actor, body }) => ({
        secret: await rotateWebhookSecret(
          deps,
          actor,
          { accountId: account.id, isDefault: true },
          body.overlapSeconds ?? defaultOverlapSeconds,
        ),
      }),
      operation({
        summary: "Rotate webhook secret",
        access: "account",
        description:
          "Creates a new secret. During the overlap `webhook-signature` has signatures by both, and `X-Signature` is by the old one.",
        body: SecretRotation,
        bodyMayBeEmpty: true,
        answers: {
          200: WebhookSecret,
        },
        refuses: ["no_webhook_url"],
      }),
    )
    .post(
      "/test",
      ({ account, actor }) => testWebhook(deps, { accountId: account.id, actor }),
      operation({
        summary: "Test webhook",
        access: "account",
        description:
          "Delivers one signed `webhook.test` event now, and returns the result. An account may do this 10 times in 60 seconds.",
        answers: {
          200: WebhookTestResult,
        },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    );
}
