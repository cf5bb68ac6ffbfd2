import { type Db, transaction } from "../../database/db.ts";
import type { Caller, Reach } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { domainNotVerified, isProven } from "../../domain/domains/readiness.ts";
import { Refusal } from "../../domain/errors.ts";
import { fingerprintOf, type KeyUse } from "../../domain/idempotency.ts";
import { dayInForce, type Limited, limitsOf, refuseOverInboxLimit, refuseOverQuota } from "../../domain/limits.ts";
import {
  inFieldOfNewInbox,
  parseLocalPart,
  parseName,
  parseUsername,
  randomUsername,
  refuseTooManyAliases,
} from "../../domain/username.ts";
import { asciiDomain } from "../../standards/address.ts";
import { lockAccount, markInboxesMade } from "../../store/account/accounts.ts";
import { findDomainForHost, lockDomain } from "../../store/account/domains.ts";
import { findInbox, type Inbox, insertAddress, insertInbox } from "../../store/account/inboxes.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { inboxEvent } from "../events/inbox-event.ts";
import { takeKey } from "../key-use.ts";

export interface NewInbox {
  account: Pick<Caller, "id" | "reach"> & Limited;
  actor: Actor;
  externalId: string | undefined;
  username: string | undefined;
  /** The request field that has the username (`username` or `mailboxName`), for error messages. */
  usernameField?: string;
  /** The domain of the address: MAIL_DOMAIN, a domain of the account or a shared one. Undefined for MAIL_DOMAIN. */
  domain?: string | undefined;
  /** The usernames or addresses of its aliases, at the domain of its address. */
  aliases?: readonly string[] | undefined;
  settings?: Partial<Given<InboxSettings>>;
  /** How long the inbox lasts, in place of `expiresAt`. */
  ttlSeconds?: number | undefined;
  idempotencyKey: string | undefined;
}

/** The fields that the owner of an inbox sets, besides its `externalId`. */
type InboxSettings = Pick<
  Inbox,
  "retentionDays" | "sendPolicy" | "displayName" | "metadata" | "approvers" | "disabled" | "expiresAt" | "searchWords"
>;
type Given<Fields> = { [Name in keyof Fields]: Fields[Name] | undefined };

const usual: InboxSettings = {
  retentionDays: null,
  sendPolicy: "open",
  displayName: null,
  metadata: {},
  approvers: null,
  disabled: false,
  expiresAt: null,
  searchWords: null,
};

export interface CreatedInbox {
  inbox: Inbox;
  replayed: boolean;
}

/** The most random usernames to try for one inbox. A name is already in use about once in 10¹⁴ times, so a few are enough. */
const draws = 5;

export async function createInbox(deps: Deps, request: NewInbox): Promise<CreatedInbox> {
  const { account, actor, externalId, ttlSeconds } = request;
  const settings = unusual(request.settings);
  const host = hostOf(request, deps.mailDomain);
  const chosen = request.username === undefined ? undefined : chosenName(request.username, host, request);
  const locals =
    chosen === undefined ? Array.from({ length: draws }, () => randomUsername(deps.randomBytes)) : [chosen];
  const names = host === undefined ? locals : locals.map((local) => `${local}@${host}`);
  const aliases = aliasesOf(request, host, deps.mailDomain);
  const createdAt = deps.now();
  const id = deps.newId("inb", createdAt);
  const named = { username: chosen, domain: host, aliases: aliases.length === 0 ? undefined : aliases };
  const use = keyUseOf(request, named, id, createdAt);

  const { hasDeliveries, ...created } = await transaction(deps.db.api, async (tx) => {
    if (use !== undefined) {
      const earlier = await earlierInbox(tx, account.reach, use);
      if (earlier !== undefined) return { inbox: earlier, replayed: true, hasDeliveries: false };
    }
    const made = await lockAccount(tx, account.id);
    const day = dayInForce(made?.inboxesMadeOn ?? null, createdAt);
    const today = made?.inboxesMadeOn === day ? made.inboxesMade : 0;
    const domainId = host === undefined ? null : await domainFor(tx, account.id, host);
    const username = await takeName(tx, names, { id, domainId }, createdAt);
    for (const alias of aliases) await takeName(tx, [alias], { id, domainId }, createdAt);
    const limits = limitsOf(deps.limits, account);
    refuseOverQuota("inboxes", { used: made?.inboxCount ?? 0, limits, doing: creating });
    const addresses = 1 + aliases.length;
    refuseOverInboxLimit({ day, today }, limits, createdAt, { adds: addresses });
    const inbox: Inbox = {
      id,
      accountId: account.id,
      username,
      domainId,
      externalId: externalId ?? null,
      createdAt,
      unreadCount: 0,
      lastMessageAt: null,
      updatedAt: null,
      aliases,
      ...usual,
      ...settings,
      ...(ttlSeconds !== undefined && { expiresAt: new Date(createdAt.getTime() + ttlSeconds * 1000) }),
    };
    await insertInbox(tx, inbox);
    await markInboxesMade(tx, account.id, { day, inboxes: 1, addresses });
    await audit(tx, deps, createdAt, {
      action: "inbox.created",
      accountId: account.id,
      actor,
      target: { type: "inbox", id },
      details: { username, externalId: inbox.externalId, ...(aliases.length > 0 && { aliases }) },
    });
    const hasDeliveries = await insertEvents(tx, [inboxEvent(deps, "inbox.created", inbox, createdAt)]);
    return { inbox, replayed: false, hasDeliveries };
  });
  if (hasDeliveries) deps.nudge("webhook");
  if (!created.replayed) deps.changes.notify([{ accountId: account.id, inboxId: created.inbox.id }]);
  return created;
}

/** The settings without those that have their default, so that both give the same fingerprint. */
function unusual(settings: NewInbox["settings"] = {}): Partial<InboxSettings> {
  const entries = Object.entries(settings).filter(
    ([name, value]) => value !== undefined && !Bun.deepEquals(value, usual[name as keyof InboxSettings]),
  );
  return Object.fromEntries(entries);
}

/** The host of the requested domain; undefined for MAIL_DOMAIN. */
function hostOf({ domain }: NewInbox, mailDomain: string): string | undefined {
  const host = domain === undefined ? mailDomain.toLowerCase() : asciiDomain(domain.trim());
  if (host === undefined) throw foreignDomain();
  return host === mailDomain.toLowerCase() ? undefined : host;
}

function chosenName(text: string, host: string | undefined, { usernameField: field = "username" }: NewInbox): string {
  const place = inFieldOfNewInbox(field);
  return host === undefined ? parseUsername(text, place) : parseLocalPart(text, host, place);
}

const creating = "create inbox";

/** The usernames of the aliases, each once. */
function aliasesOf({ aliases = [] }: NewInbox, host: string | undefined, mailDomain: string): string[] {
  const names = aliases.map((text, index) =>
    parseName(text, { host, mailDomain }, inFieldOfNewInbox("aliases", `aliases/${index}`)),
  );
  refuseTooManyAliases(names.length, creating);
  return [...new Set(names)];
}

/**
 * The id of the domain for addresses at this host. The domain stays locked until the commit, so an inbox is never made at a domain that is
 * deleted or fails meanwhile.
 */
export async function domainFor(tx: Db, accountId: string, host: string, doing: string = creating): Promise<string> {
  const found = await findDomainForHost(tx, accountId, host);
  const domain = found && (await lockDomain(tx, found.id));
  if (domain === undefined || host === `${domain.returnPath}.${domain.name}`) throw foreignDomain();
  if (!isProven(domain.status)) throw domainNotVerified(`Cannot ${doing}`, domain);
  return domain.id;
}

function foreignDomain(): Refusal {
  const detail = "must be the domain of the service, a domain of this account or a shared one";
  return new Refusal("validation_error", `Cannot create inbox: "domain" ${detail}`, {
    faults: [{ pointer: "#/domain", detail }],
  });
}

export async function takeName(
  tx: Db,
  names: readonly string[],
  inbox: Pick<Inbox, "id" | "domainId">,
  now: Date,
  doing: string = creating,
): Promise<string> {
  for (const username of names) if (await insertAddress(tx, { ...inbox, username }, now)) return username;
  throw new Refusal("address_taken", `Cannot ${doing}: the address "${names[0]}" is taken`);
}

/**
 * Records the use of an idempotency key. If an earlier request with the same content has used the key, returns the inbox that it created.
 */
async function earlierInbox(tx: Db, reach: Reach, use: KeyUse): Promise<Inbox | undefined> {
  const id = await takeKey(tx, use);
  if (id === undefined) return undefined;
  const inbox = await findInbox(tx, reach, id);
  if (inbox === undefined)
    throw new Refusal("not_found", "Cannot replay: the inbox that this key made is deleted", {
      extra: { resource: "inbox" },
    });
  return inbox;
}

function keyUseOf(
  request: NewInbox,
  named: { username: string | undefined; domain: string | undefined; aliases: readonly string[] | undefined },
  subjectId: string,
  createdAt: Date,
): KeyUse | undefined {
  if (request.idempotencyKey === undefined) return undefined;
  const { externalId, ttlSeconds } = request;
  const { expiresAt, ...settings } = unusual(request.settings);
  const end = { expiresAt: expiresAt?.toISOString(), ttlSeconds };
  const fingerprint = fingerprintOf("", { externalId, ...named, ...settings, ...end });
  return {
    accountId: request.account.id,
    operation: "create_inbox",
    key: request.idempotencyKey,
    fingerprint,
    subjectId,
    createdAt,
  };
}
