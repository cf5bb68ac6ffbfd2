import { notFound, Refusal } from "../../../domain/errors.ts";
import { type EndpointChange, usualSettings } from "../../../domain/events/endpoint.ts";
import { isId } from "../../../domain/ids.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
  rotateEndpointSecret,
} from "../../../flows/events/manage-endpoints.ts";
import { recoverEvents } from "../../../flows/events/recover-events.ts";
import { testEndpoint } from "../../../flows/events/test-webhook.ts";
import { pageEndpointDeliveries } from "../../../flows/read/page-endpoint-deliveries.ts";
import { type Endpoint, findEndpoint, listEndpoints } from "../../../store/events/endpoints.ts";
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
      async ({ account }) => ({ data: (await listEndpoints(deps.db.api, account.id)).map(toEndpoint) }),
      operation({
        summary: "List webhook endpoints",
        description: "Oldest first. The one that `/v1/webhook` means is among them as soon as it has an address.",
        answers: { 200: WebhookEndpointList },
      }),
    )
    .post(
      "",
      async ({ account, body, request, set }) => {
        const { endpoint, secret } = await createEndpoint(deps, {
          accountId: account.id,
          settings: { ...usualSettings, ...body },
          idempotencyKey: idempotencyKeyOf(request),
        });
        set.status = 201;
        set.headers.location = `/v1/webhooks/${endpoint.id}`;
        if (secret === undefined) set.headers["idempotent-replayed"] = "true";
        return { ...toEndpoint(endpoint), ...(secret !== undefined && { secret }) };
      },
      operation({
        summary: "Create webhook endpoint",
        description:
          "One more place for events of the account, with a subscription, a secret and a line of its own. An account may have 20, unless the operator says otherwise, and make 20 in an hour. Repeated with the same `Idempotency-Key` it makes no second one, and shows no secret.",
        idempotencyKey: "optional",
        body: NewWebhookEndpoint,
        answers: { 201: CreatedWebhookEndpoint },
        answerHeaders: {
          201: {
            Location: "Path of the endpoint",
            "Idempotent-Replayed": "`true` when an earlier request with this key made it",
          },
        },
        // Answered for an inbox of another account, and to a replay if the endpoint of the first request is deleted.
        refuses: ["not_found", "invalid_webhook_url", "webhook_limit_reached", "rate_limit_exceeded"],
      }),
    );
}

function endpoint(deps: WebhooksDeps) {
  const whenRefused = whetherThere((accountId, id) => ownedEndpoint(deps, accountId, id));
  return api("/v1/webhooks", "Webhooks")
    .get(
      "/:id",
      async ({ account, params }) => toEndpoint(await ownedEndpoint(deps, account.id, params.id)),
      operation({
        summary: "Get webhook endpoint",
        description: "One endpoint of the account.",
        path: endpointPath,
        whenRefused,
        answers: { 200: WebhookEndpoint },
      }),
    )
    .patch(
      "/:id",
      async ({ account, params, body }) => {
        const { id } = await ownedEndpoint(deps, account.id, params.id);
        return toEndpoint(await changeEndpoint(deps, { accountId: account.id, id }, body as EndpointChange));
      },
      operation({
        summary: "Change webhook endpoint",
        description:
          "Takes the fields of a new one, and `disabled`. A new `url`, like `disabled: false`, enables it and forgets its failures. What is in line already goes where the endpoint then is.",
        path: endpointPath,
        whenRefused,
        body: WebhookEndpointChange,
        answers: { 200: WebhookEndpoint },
        refuses: ["invalid_webhook_url"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, params, set }) => {
        await deleteEndpoint(deps, await ownedEndpoint(deps, account.id, params.id));
        set.status = 204;
      },
      operation({
        summary: "Delete webhook endpoint",
        description:
          "What is in line for it is dropped, and its secret forgotten; what was tried stays in the log. Of the default one it is what `DELETE /v1/webhook` does.",
        path: endpointPath,
        whenRefused,
        answers: { 204: nothing("Deleted") },
      }),
    )
    .post(
      "/:id/rotate-secret",
      async ({ account, params, body }) => {
        const endpoint = await ownedEndpoint(deps, account.id, params.id);
        return { secret: await rotateEndpointSecret(deps, endpoint, body.overlapSeconds ?? defaultOverlapSeconds) };
      },
      operation({
        summary: "Rotate webhook endpoint secret",
        description:
          "Makes a new secret. For the overlap `webhook-signature` carries signatures by both, and `X-Signature` is by the old one.",
        path: endpointPath,
        whenRefused,
        body: SecretRotation,
        bodyMayBeEmpty: true,
        answers: { 200: WebhookSecret },
      }),
    );
}

function deliveriesTo(deps: WebhooksDeps) {
  const whenRefused = whetherThere((accountId, id) => ownedEndpoint(deps, accountId, id));
  return api("/v1/webhooks", "Webhooks")
    .post(
      "/:id/test",
      async ({ account, params }) => testEndpoint(deps, await ownedEndpoint(deps, account.id, params.id)),
      operation({
        summary: "Test webhook endpoint",
        description:
          "Delivers one signed `webhook.test` event now, and tells what came of it. An account may ask for it 10 times in 60 seconds.",
        path: endpointPath,
        whenRefused,
        answers: { 200: WebhookTestResult },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    )
    .get(
      "/:id/deliveries",
      async ({ account, params, query: { limit, cursor, state } }) => {
        const endpoint = await ownedEndpoint(deps, account.id, params.id);
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
        description:
          "What became of events at this endpoint, the newest event first: of those that it wants, and of others that it was promised. One call looks at 1,000 events of the account at most, so it may have fewer than `limit`, or none, with a `nextCursor`.",
        path: endpointPath,
        whenRefused,
        query: EndpointDeliveryQuery,
        answers: { 200: EndpointDeliveryPage },
      }),
    )
    .post(
      "/:id/recover",
      async ({ account, params, body, set }) => {
        const { id } = await ownedEndpoint(deps, account.id, params.id);
        const recovered = await recoverEvents(deps, { accountId: account.id, endpointId: id, after: body.after });
        set.status = 202;
        return recovered;
      },
      operation({
        summary: "Recover webhook endpoint events",
        description:
          "Puts in line, in order, the events behind `after` that the endpoint wants and has never answered with 2xx; what is in line already stays as it is. One call looks at 1,000 events: while `hasMore`, go on from `last`. An endpoint that has answered nothing with 2xx yet gets one event, and no other before that one has ended. An account may ask for it 10 times in 60 seconds.",
        path: endpointPath,
        whenRefused,
        body: Recovery,
        answers: { 202: RecoveryResult },
        refuses: ["no_webhook_url", "rate_limit_exceeded"],
      }),
    );
}

/** The caller's endpoint of that id. Throws `not_found` also for an endpoint of another account. */
export async function ownedEndpoint(
  { db }: Pick<WebhooksDeps, "db">,
  accountId: string,
  id: string,
): Promise<Endpoint> {
  const endpoint = isId("whk", id) ? await findEndpoint(db.api, { accountId, id }) : undefined;
  if (endpoint === undefined) throw notFound("webhook");
  return endpoint;
}

function toEndpoint(endpoint: Endpoint) {
  return {
    id: endpoint.id,
    url: endpoint.url,
    description: endpoint.description,
    eventTypes: endpoint.eventTypes,
    inboxIds: endpoint.inboxIds,
    skipAutomated: endpoint.skipAutomated,
    include: endpoint.include,
    isDefault: endpoint.isDefault,
    secretLast4: endpoint.secret.slice(-4),
    createdAt: endpoint.createdAt.toISOString(),
    disabledAt: endpoint.disabledAt?.toISOString() ?? null,
    disabledReason: endpoint.disabledReason,
    failingSince: endpoint.failingSince?.toISOString() ?? null,
  };
}
