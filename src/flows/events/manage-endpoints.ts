import { type Db, transaction } from "../../database/db.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import {
  type DisabledReason,
  type EndpointChange,
  type EndpointSettings,
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
  type EndpointName,
  findEndpoint,
  insertEndpoint,
  lockEndpoint,
  markEndpointChanged,
  markEndpointSecretRotated,
  removeEndpoint,
  removePromises,
} from "../../store/events/endpoints.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import type { Deps } from "../deps.ts";
import { takeKey } from "../key-use.ts";
import { refuseBadUrl, type WebhookSettingsDeps } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

export interface EndpointDeps extends WebhookSettingsDeps {
  webhooksPerAccount: number;
  /** Told of each that is disabled by hand. */
  disabled?: ((reason: DisabledReason) => void) | undefined;
}

export interface NewEndpoint {
  accountId: string;
  settings: EndpointSettings;
  idempotencyKey: string | undefined;
}

export interface CreatedEndpoint {
  endpoint: Endpoint;
  /** Shown this once; undefined where an earlier request with the key made the endpoint. */
  secret: string | undefined;
}

/** A further endpoint of the account. */
export async function createEndpoint(deps: EndpointDeps, request: NewEndpoint): Promise<CreatedEndpoint> {
  const { accountId } = request;
  const settings = tidied(request.settings);
  refuseBadUrl(deps, settings.url, "create webhook endpoint");
  const createdAt = deps.now();
  const made = { ...neverTried, id: deps.newId("whk", createdAt), accountId, createdAt, ...settings };
  const secret = newWebhookSecret(deps.randomBytes);
  const use = keyUseOf(request, made);

  return transaction(deps.db.api, async (tx) => {
    const earlierId = use && (await takeKey(tx, use));
    if (earlierId !== undefined) return { endpoint: await replayed(tx, accountId, earlierId), secret: undefined };
    // Of many at once one counts after the other.
    await lockAccount(tx, accountId);
    await refuseForeignInboxes(tx, accountId, settings.inboxIds);
    refuseOverLimit(await countEndpoints(tx, accountId), deps.webhooksPerAccount);
    await paceRequest(tx, accountId, "create_webhook");
    const endpoint = { ...made, secret };
    await insertEndpoint(tx, endpoint);
    return { endpoint, secret };
  });
}

const neverTried = {
  ...{ isDefault: false, previousSecret: null, previousSecretUntil: null },
  ...{ disabledAt: null, disabledReason: null, failingSince: null, answeredAt: null },
};

function keyUseOf(
  { accountId, idempotencyKey, settings }: NewEndpoint,
  { id, createdAt }: Pick<Endpoint, "id" | "createdAt">,
): KeyUse | undefined {
  if (idempotencyKey === undefined) return undefined;
  const fingerprint = fingerprintOf("", tidied(settings));
  return { accountId, operation: "create_webhook", key: idempotencyKey, fingerprint, subjectId: id, createdAt };
}

async function replayed(tx: Db, accountId: string, id: string): Promise<Endpoint> {
  const endpoint = await findEndpoint(tx, accountId, id);
  if (endpoint !== undefined) return endpoint;
  throw new Refusal("not_found", "Cannot replay: the webhook that this key made is deleted", {
    extra: { resource: "webhook" },
  });
}

async function refuseForeignInboxes(tx: Db, accountId: string, ids: readonly string[] | null): Promise<void> {
  if (ids === null) return;
  const own = await listOwnInboxIds(tx, accountId, ids);
  if (!ids.every((id) => own.has(id))) throw notFound("inbox");
}

function refuseOverLimit(count: number, limit: number): void {
  if (count < limit) return;
  throw new Refusal(
    "webhook_limit_reached",
    `Cannot create webhook endpoint: the account has as many as it may have, ${limit}`,
    { extra: { limit } },
  );
}

/** The endpoint as it is afterwards. That it is disabled by hand is told like any other end of it, by the same transaction. */
export async function changeEndpoint(
  deps: EndpointDeps,
  { accountId, id }: Pick<EndpointName, "accountId" | "id">,
  change: EndpointChange,
): Promise<Endpoint> {
  if (change.url !== undefined) refuseBadUrl(deps, change.url, "change webhook endpoint");
  const at = deps.now();
  const { endpoint, promised, isToTell } = await transaction(deps.db.api, async (tx) => {
    const before = await lockEndpoint(tx, accountId, id);
    if (before === undefined) throw notFound("webhook");
    await refuseForeignInboxes(tx, accountId, change.inboxIds ?? null);
    const endpoint = withChange(before, change, at);
    await markEndpointChanged(tx, endpoint);
    const isToTell = before.disabledAt === null && endpoint.disabledAt !== null;
    return { endpoint, isToTell, promised: isToTell ? await tellDisabled(deps, tx, endpoint, at) : [] };
  });
  if (isToTell) {
    deps.disabled?.("manual");
    deps.changes.notify([{ accountId }]);
  }
  for (const kind of promised) deps.nudge(kind);
  return endpoint;
}

function tellDisabled(deps: Deps, tx: Db, { id, accountId, url }: Endpoint, at: Date) {
  const nowhere = { inboxId: null, threadId: null, messageId: null };
  const data = { webhookId: id, url: url ?? "", reason: "manual" as const };
  const event = { id: deps.newId("evt", at), accountId, ...nowhere, occurredAt: at, data };
  return insertEvents(tx, [{ ...event, type: "webhook.disabled" }]);
}

/** A new secret. The old one stays valid beside it for the overlap, in which the receiver learns the new one. */
export async function rotateEndpointSecret(
  deps: Deps,
  endpoint: EndpointName,
  overlapSeconds: number,
): Promise<string> {
  const secret = newWebhookSecret(deps.randomBytes);
  const until = new Date(deps.now().getTime() + overlapSeconds * 1000);
  if (!(await markEndpointSecretRotated(deps.db.api, endpoint, secret, until))) throw notFound("webhook");
  return secret;
}

/**
 * Nothing is promised to it any more. What is in line for a further one is dropped in steps: some here, and whatever is left when it has
 * its turn, as it finds no endpoint. The line of the default one is that of whoever sets an address again, as ever.
 */
export async function deleteEndpoint({ db }: Deps, endpoint: EndpointName): Promise<void> {
  if (!(await removeEndpoint(db.api, endpoint))) throw notFound("webhook");
  if (endpoint.isDefault) return;
  for (let step = 0; step < mostSteps; step += 1)
    if ((await removePromises(db.api, endpoint.id, stepRows)) === 0) return;
}

const stepRows = 500;
const mostSteps = 20;
