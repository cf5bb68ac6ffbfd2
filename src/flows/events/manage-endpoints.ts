import { type Db, transaction } from "../../database/db.ts";
import type { Actor, ActorIn } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import {
  type DisabledReason,
  type EndpointChange,
  type EndpointSettings,
  neverTried,
  tidied,
  withChange,
} from "../../domain/events/endpoint.ts";
import { fingerprintOf, type KeyUse } from "../../domain/idempotency.ts";
import { newWebhookSecret } from "../../standards/signature.ts";
import { lockAccount } from "../../store/account/accounts.ts";
import { listOwnInboxIds } from "../../store/account/inboxes.ts";
import {
  countEndpoints,
  type Endpoint,
  findEndpoint,
  insertEndpoint,
  laneOf,
  lockEndpoint,
  markEndpointChanged,
  removeDeliveriesInLine,
  type TriedEndpoint,
} from "../../store/events/endpoints.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { takeKey } from "../key-use.ts";
import { hostOf, refuseBadUrl, removeEndpointAs, type WebhookSettingsDeps } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

export interface EndpointDeps extends WebhookSettingsDeps {
  webhooksPerAccount: number;
  /** Called for each endpoint that a request disables. */
  disabled?: ((reason: DisabledReason) => void) | undefined;
}

export interface NewEndpoint {
  accountId: string;
  actor: Actor;
  settings: EndpointSettings;
  idempotencyKey: string | undefined;
}

export interface CreatedEndpoint {
  endpoint: TriedEndpoint;
  /** The signing secret, which is shown only in this result; undefined if an earlier request with the key made the endpoint. */
  secret: string | undefined;
}

/** Creates an endpoint of the account, beside the default one. */
export async function createEndpoint(deps: EndpointDeps, request: NewEndpoint): Promise<CreatedEndpoint> {
  const { accountId, actor } = request;
  const settings = tidied(request.settings);
  refuseBadUrl(deps, settings.url, "create webhook endpoint");
  const createdAt = deps.now();
  const id = deps.newId("whk", createdAt);
  const secret = newWebhookSecret(deps.randomBytes);
  const endpoint: Endpoint = {
    ...settings,
    ...neverTried,
    id,
    accountId,
    isDefault: false,
    secret: deps.sealing.seal(secret, id),
    previousSecret: null,
    previousSecretUntil: null,
    createdAt,
  };
  const use = keyUseOf(request, endpoint);

  return transaction(deps.db.api, async (tx) => {
    const earlierId = use && (await takeKey(tx, use));
    if (earlierId !== undefined) return { endpoint: await replayed(tx, accountId, earlierId), secret: undefined };
    // Concurrent requests of the account wait here, so that each counts the endpoints of those before it.
    await lockAccount(tx, accountId);
    await refuseForeignInboxes(tx, accountId, settings.inboxIds);
    refuseOverLimit(await countEndpoints(tx, accountId), deps.webhooksPerAccount);
    await paceRequest(tx, accountId, "create_webhook");
    await insertEndpoint(tx, endpoint);
    await audit(tx, deps, createdAt, {
      action: "webhook.created",
      accountId,
      actor,
      target: { type: "webhook", id: endpoint.id },
      details: { host: hostOf(endpoint) },
    });
    return { endpoint: { ...endpoint, lastDelivery: null }, secret };
  });
}

function keyUseOf(
  { accountId, idempotencyKey, settings }: NewEndpoint,
  { id, createdAt }: Pick<Endpoint, "id" | "createdAt">,
): KeyUse | undefined {
  if (idempotencyKey === undefined) return undefined;
  const fingerprint = fingerprintOf("", tidied(settings));
  return { accountId, operation: "create_webhook", key: idempotencyKey, fingerprint, subjectId: id, createdAt };
}

async function replayed(tx: Db, accountId: string, id: string): Promise<TriedEndpoint> {
  const endpoint = await findEndpoint(tx, { accountId, id });
  if (endpoint !== undefined) return endpoint;
  throw new Refusal("not_found", "Cannot replay: the webhook that this key made is deleted", {
    extra: { resource: "webhook" },
  });
}

async function refuseForeignInboxes(tx: Db, accountId: string, ids: readonly string[] | null): Promise<void> {
  if (ids === null) return;
  const own = await listOwnInboxIds(tx, { accountId }, ids);
  if (!ids.every((id) => own.has(id))) throw notFound("inbox");
}

function refuseOverLimit(count: number, limit: number): void {
  if (count < limit) return;
  throw new Refusal(
    "webhook_limit_reached",
    `Cannot create webhook endpoint: the account already has its maximum of ${limit}`,
    { extra: { limit } },
  );
}

/** Changes an endpoint and returns it. If the change disables the endpoint, the same transaction inserts an event about that. */
export async function changeEndpoint(
  deps: EndpointDeps,
  { accountId, actor, id }: ActorIn & Pick<Endpoint, "id">,
  change: EndpointChange,
): Promise<TriedEndpoint> {
  if (change.url !== undefined) refuseBadUrl(deps, change.url, "change webhook endpoint");
  const at = deps.now();
  const { endpoint, hasDeliveries, isNowDisabled } = await transaction(deps.db.api, async (tx) => {
    const before = await lockEndpoint(tx, { accountId, id });
    if (before === undefined) throw notFound("webhook");
    await refuseForeignInboxes(tx, accountId, change.inboxIds ?? null);
    const endpoint = withChange(before, change, at);
    await markEndpointChanged(tx, endpoint);
    await audit(tx, deps, at, {
      action: "webhook.changed",
      accountId,
      actor,
      target: { type: "webhook", id },
      details: { fields: Object.keys(change), host: hostOf(endpoint) },
    });
    const isNowDisabled = before.disabledAt === null && endpoint.disabledAt !== null;
    return {
      endpoint,
      isNowDisabled,
      hasDeliveries: isNowDisabled && (await insertDisabledEvent(deps, tx, endpoint, at)),
    };
  });
  if (isNowDisabled) {
    deps.disabled?.("manual");
    deps.changes.notify([{ accountId }]);
  }
  if (hasDeliveries) deps.nudge("webhook");
  return endpoint;
}

function insertDisabledEvent(deps: Deps, tx: Db, { id, accountId, url }: Endpoint, at: Date) {
  return insertEvents(tx, [
    {
      id: deps.newId("evt", at),
      accountId,
      inboxId: null,
      threadId: null,
      messageId: null,
      type: "webhook.disabled",
      occurredAt: at,
      data: { webhookId: id, url: url ?? "", reason: "manual" },
    },
  ]);
}

/**
 * Deletes an endpoint, and then the deliveries in line for it, in at most 20 steps. Any that are left after the last step end when they are
 * claimed, because their endpoint does not exist. Deliveries for the default endpoint stay in line for a later default endpoint.
 */
export async function deleteEndpoint(deps: Deps, actor: Actor, endpoint: Endpoint): Promise<void> {
  if (!(await removeEndpointAs(deps, actor, endpoint))) throw notFound("webhook");
  if (endpoint.isDefault) return;
  for (let step = 0; step < mostSteps; step += 1)
    if ((await removeDeliveriesInLine(deps.db.api, laneOf(endpoint), stepRows)) === 0) return;
}

const stepRows = 500;
const mostSteps = 20;
