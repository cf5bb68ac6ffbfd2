import { isWholeAccount, type Reach } from "../../../domain/access/access.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { usualSettings } from "../../../domain/events/endpoint.ts";
import { isId } from "../../../domain/ids.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
} from "../../../flows/events/manage-endpoints.ts";
import { rotateWebhookSecret, secretOf } from "../../../flows/events/manage-webhook.ts";
import { recoverEvents } from "../../../flows/events/recover-events.ts";
import { testEndpoint } from "../../../flows/events/test-webhook.ts";
import { pageEndpointDeliveries } from "../../../flows/read/page-endpoint-deliveries.ts";
import { shownLastDelivery } from "../../../flows/read/shown-webhook.ts";
import { findEndpoint, listEndpoints, type TriedEndpoint } from "../../../store/events/endpoints.ts";
import type { WebhookClient } from "../../../webhook/client.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, nothing } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorRow } from "../../shell/parameters.ts";
import { idempotencyKeyOf } from "../../shell/request-headers.ts";
import {
  CreatedWebhookEndpoint,
  defaultOverlapSeconds,
  EndpointDeliveryPage,
  EndpointDeliveryQuery,
  NewWebhookEndpoint,
  Recovery,
  RecoveryResult,
  readEndpoint,
  SecretRotation,
  WebhookEndpoint,
  WebhookEndpointChange,
  WebhookEndpointList,
  WebhookSecret,
  WebhookTestResult,
} from "./webhook-shapes.ts";

export interface WebhooksDeps extends EndpointDeps {
  webhooks: WebhookClient;
}

const endpointPath = idPath("webhook");

/** All webhook endpoints of an account. `/v1/webhook` is the default one of them. */
export function webhooks(deps: WebhooksDeps) {
  return [collection(deps), endpoint(deps), deliveriesTo(deps)];
}

function collection(deps: WebhooksDeps) {
  return api("/v1/webhooks", "Webhooks")
    .get(
      "",
      async ({ account }) => ({
        data: (await listEndpoints(deps.db.api, account.id)).map((each) => toEndpoint(deps, each)),
      }),
      operation({
        summary: "List webhook endpoints",
        access: "account",
        description: "Oldest first. The endpoint of `/v1/webhook` is among them as soon as it has a URL.",
        answers: { 200: WebhookEndpointList },
      }),
    )
    .post(
      "",
      async ({ account, actor, body, request, set }) => {
        const { endpoint, secret } = await createEndpoint(deps, {
          accountId: account.id,
          actor,
          settings: { ...usualSettings, ...body },
          idempotencyKey: idempotencyKeyOf(request),
        });
        set.status = 201;
        set.headers.location = `/v1/webhooks/${endpoint.id}`;
        if (secret === undefined) set.headers["idempotent-replayed"] = "true";
        const { lastDelivery, headers, externalIds, ...shown } = toEndpoint(deps, endpoint);
        return { ...shown, ...(secret !== undefined && { secret }), lastDelivery, headers, externalIds };
      },
      operation({
        summary: "Create webhook endpoint",
        access: "account",
        description:
          "Creates another endpoint for events of the account, with its own subscription, secret and queue. An account may have 20 (`WEBHOOKS_PER_ACCOUNT`), and create 20 in an hour. A repeated request with the same `Idempotency-Key` creates no second one, and does not show the secret.",
        idempotencyKey: "optional",
        body: NewWebhookEndpoint,
        readFields: readEndpoint,
        answers: { 201: CreatedWebhookEndpoint },
        answerHeaders: {
          201: {
            Location: "Path of the endpoint",
            "Idempotent-Replayed": "`true` when an earlier request with this key made it",
          },
        },
        // `not_found` for an inbox of another account, and for a replay if the endpoint of the first request was
        // deleted since.
        refuses: ["not_found", "invalid_webhook_url", "webhook_limit_reached", "rate_limit_exceeded"],
      }),
    );
}

function endpoint(deps: WebhooksDeps) {
  const whenRefused = whetherThere((reach, id) => ownedEndpoint(deps, reach, id));
  return api("/v1/webhooks", "Webhooks")
    .get(
      "/:id",
      async ({ account, params }) => toEndpoint(deps, await ownedEndpoint(deps, account.reach, params.id)),
      operation({
        summary: "Get webhook endpoint",
        access: "account",
        description: "One endpoint of the account.",
        path: endpointPath,
        whenRefused,
        answers: { 200: WebhookEndpoint },
      }),
    )
    .patch(
      "/:id",
      async ({ account, actor, params, body }) => {
        const { id } = await ownedEndpoint(deps, account.reach, params.id);
        return toEndpoint(deps, await changeEndpoint(deps, { accountId: account.id, actor, id }, body));
      },
      operation({
        summary: "Change webhook endpoint",
        access: "account",
        description:
          "Takes the fields of a new endpoint, and `disabled`. A new `url`, like `disabled: false`, enables it and forgets its failures. Queued events go to the new URL.",
        path: endpointPath,
        whenRefused,
        body: WebhookEndpointChange,
        readFields: readEndpoint,
        answers: { 200: WebhookEndpoint },
        refuses: ["invalid_webhook_url"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await deleteEndpoint(deps, actor, await ownedEndpoint(deps, account.reach, params.id));
        set.status = 204;
      },
      operation({
        summary: "Delete webhook endpoint",
        access: "account",
        description:
          "Drops its queued events and deletes its secret. Its attempts stay in the log. For the default endpoint this is the same as `DELETE /v1/webhook`.",
        path: endpointPath,
        whenRefused,
        answers: { 204: nothing("Deleted") },
      }),
    )
    .post(
      "/:id/rotate-secret",
      async ({ account, actor, params, body }) => {
        const endpoint = await ownedEndpoint(deps, account.reach, params.id);
        return {
          secret: await rotateWebhookSecret(deps, actor, endpoint, body.overlapSeconds ?? defaultOverlapSeconds),
        };
      },
      operation({
        summary: "Rotate webhook endpoint secret",
        access: "account",
        description:
          "Creates a new secret. During the overlap `webhook-signature` has signatures by both, and `X-Signature` is by the old one.",
        path: endpointPath,
        whenRefused,
        body: SecretRotation,
        bodyMayBeEmpty: true,
        answers: { 200: WebhookSecret },
      }),
    );
}

function deliveriesTo(deps: WebhooksDeps) {
  const whenRefused = whetherThere((reach, id) => ownedEndpoint(deps, reach, id));
  return api("/v1/webhooks", "Webhooks")
    .post(
      "/:id/test",
      async ({ account, actor, params }) =>
        testEndpoint(deps, actor, await ownedEndpoint(deps, account.reach, params.id)),
      operation({
        summary: "Test webhook endpoint",
        access: "account",
        description:
          "Delivers one signed `webhook.test` event now, and returns the result. An account may do this 10 times in 60 seconds.",
        path: endpointPath,
        whenRefused,
        answers: { 200: WebhookTestResult },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    )
    .get(
      "/:id/deliveries",
      async ({ account, params, query: { limit, cursor, state } }) => {
        const endpoint = await ownedEndpoint(deps, account.reach, params.id);
        const question = ["endpoint deliveries", endpoint.id, state];
        const before =
          cursor === undefined
            ? undefined
            : cursorRow(cursor, question, "transaction", "list webhook endpoint deliveries");
        if (before instanceof Refusal) throw before;
        return pageEndpointDeliveries(deps, { endpoint, before, limit, state, question });
      },
      operation({
        summary: "List webhook endpoint deliveries",
        access: "account",
        description:
          "The states of events at this endpoint, the newest event first: events that it subscribes to, and others that were queued for it. One call reads at most 1,000 events of the account, so it may return fewer than `limit`, or none, with a `nextCursor`.",
        path: endpointPath,
        whenRefused,
        query: EndpointDeliveryQuery,
        answers: { 200: EndpointDeliveryPage },
      }),
    )
    .post(
      "/:id/recover",
      async ({ account, actor, params, body, set }) => {
        const { id } = await ownedEndpoint(deps, account.reach, params.id);
        const recovered = await recoverEvents(deps, {
          accountId: account.id,
          actor,
          endpointId: id,
          after: body.after,
        });
        set.status = 202;
        return recovered;
      },
      operation({
        summary: "Recover webhook endpoint events",
        access: "account",
        description:
          "Queues, in order, the events after `after` that the endpoint subscribes to and never answered with 2xx. Events that are queued already stay as they are. One call reads 1,000 events: while `hasMore` is true, call again with `last`. An endpoint that never answered with 2xx gets one event, and no other before that one has ended. An account may do this 10 times in 60 seconds.",
        path: endpointPath,
        whenRefused,
        body: Recovery,
        answers: { 202: RecoveryResult },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    );
}

/** The endpoint of that id. Throws `not_found` also for a caller that reaches only a part of the account. */
export async function ownedEndpoint(
  { db }: Pick<WebhooksDeps, "db">,
  reach: Reach,
  id: string,
): Promise<TriedEndpoint> {
  const isNamed = isId("whk", id) && isWholeAccount(reach);
  const endpoint = isNamed ? await findEndpoint(db.api, { accountId: reach.accountId, id }) : undefined;
  if (endpoint === undefined) throw notFound("webhook");
  return endpoint;
}

function toEndpoint(deps: Pick<WebhooksDeps, "sealing">, endpoint: TriedEndpoint) {
  return {
    id: endpoint.id,
    url: endpoint.url,
    description: endpoint.description,
    eventTypes: endpoint.eventTypes,
    inboxIds: endpoint.inboxIds,
    skipAutomated: endpoint.skipAutomated,
    include: endpoint.include,
    isDefault: endpoint.isDefault,
    secretLast4: secretOf(deps, endpoint).slice(-4),
    createdAt: endpoint.createdAt.toISOString(),
    disabledAt: endpoint.disabledAt?.toISOString() ?? null,
    disabledReason: endpoint.disabledReason,
    failingSince: endpoint.failingSince?.toISOString() ?? null,
    lastDelivery: shownLastDelivery(endpoint.lastDelivery),
    headers: endpoint.headers.map(({ name }) => name),
    externalIds: endpoint.externalIds,
  };
}
