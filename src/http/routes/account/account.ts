import { Type } from "@sinclair/typebox";
import { accesses, callers } from "../../../domain/access/access.ts";
import { suspensions } from "../../../domain/access/suspension.ts";
import { limitsOf, plans } from "../../../domain/limits.ts";
import type { Outbound } from "../../../domain/outbound.ts";
import { itemKindsOf } from "../../../domain/outbox-item.ts";
import { searchWords } from "../../../domain/search.ts";
import { changeOwnAccount } from "../../../flows/account/change-own-account.ts";
import type { Deps } from "../../../flows/deps.ts";
import { findShownAccount } from "../../../store/account/accounts.ts";
import { mostCountedItems } from "../../../store/outbox/listed-items.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import type { Account as Caller } from "../../shell/auth.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { retentionDays, searchWordsMeanings } from "./inbox-shapes.ts";
import { sendPolicyChange, sendPolicyShown } from "./send-policy.ts";

export interface AccountDeps extends Deps {
  outbound: Outbound["kind"];
  sendMaxBytes: number;
}

const most = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description: `${description}; 0: no limit`, examples: [example] });

const Limits = named(
  "AccountLimits",
  Type.Object(
    {
      sendsPerMinute: most("Sends of an inbox in 60 seconds", 10),
      sendsPerDay: most("Sends of an inbox in a UTC day", 200),
      coldRecipientDaily: most("Sends of an inbox in a UTC day to one recipient that it does not know", 20),
      inboxesPerDay: most("Inboxes made in a UTC day", 100),
      inboxes: most("Inboxes", 0),
      domains: most("Own domains", 20),
      keys: most("Keys that are not revoked", 10_000),
      storageBytes: most("Bytes that all mail of the account takes", 0),
      inboxBytes: most("Bytes that the mail of one inbox takes", 0),
      mailBytes: Type.Integer({
        description: "Bytes of a mail that is sent, as its relay sees it: a file takes 37 % more than its size",
        examples: [26_214_400],
      }),
      receivesPerMinute: most("Mails that an inbox receives in 60 seconds", 0),
    },
    { description: "The limits of the account" },
  ),
);

const CallingKey = named(
  "CallingKey",
  Type.Object(
    {
      id: Type.String({
        description: "Id of the key. With a token, the id of the key that made it",
        examples: [examples.keyId],
      }),
      name: nullable(Type.String(), {
        description: "Name of the key, if it has one",
        examples: ["first start"],
      }),
      access: oneOf(accesses, {
        description:
          "What the caller may do within its reach. `full`: everything; `agent`: read, send, mark, wait and stream; `send`: send, and cancel its own mail, without reading mail; `read`: only read; `ingest`: only hand in received mail",
        examples: ["full"],
      }),
      inboxId: nullable(Type.String(), {
        description: "The only inbox that the caller reaches; null: all inboxes",
        examples: [null],
      }),
      externalId: nullable(Type.String(), {
        description: "The only tenant that the caller reaches; null: all tenants",
        examples: [null],
      }),
      expiresAt: nullable(instant(), {
        description: "When the caller's key, token or session expires; null: never",
        examples: [null],
      }),
    },
    { description: "The caller: a key, or a token or session of it" },
  ),
);

const Counts = named(
  "AccountCounts",
  Type.Object(
    {
      inboxes: Type.Integer({ minimum: 0, description: "Inboxes", examples: [12] }),
      unreadThreads: Type.Integer({ minimum: 0, description: "Unread threads in all of them", examples: [3] }),
      awaitingApproval: Type.Integer({
        minimum: 0,
        description: "Mail that waits for the approval of a person",
        examples: [0],
      }),
      outbox: nullable(Type.Integer({ minimum: 0, maximum: mostCountedItems, examples: [0] }), {
        description: `Mail and events that are still to be sent: more than ${mostCountedItems} count as ${mostCountedItems}. Null for a caller that may not list the outbox`,
      }),
    },
    { description: "How much there is of what the caller may read" },
  ),
);

const Account = named(
  "Account",
  Type.Object(
    {
      id: Type.String({ description: "Id of the account", examples: [examples.accountId] }),
      name: nullable(Type.String(), { description: "Name of the account", examples: ["default"] }),
      plan: oneOf(plans, { description: "The plan, which decides the limits", examples: ["developer"] }),
      limits: Limits,
      suspended: nullable(oneOf(suspensions), {
        description:
          "What the operator has suspended; null: nothing. `sending`: sends are refused, and accepted mail waits; `all`: also all other requests, and mail is refused for now; `moving`: as `all`, while the account moves to another service",
        examples: [null],
      }),
      retentionDays: nullable(Type.Integer({ minimum: 1, maximum: 3650 }), {
        description: "Days after which mail is removed; null: the default of the service",
        examples: [null],
      }),
      mailDomain: Type.String({ description: "Domain of the addresses", examples: ["inbox.localhost"] }),
      outbound: oneOf(["sandbox", "relay", "direct"], {
        description:
          "Where mail goes: it stays here (`sandbox`), it goes to a relay, or directly to the recipients' servers",
      }),
      createdAt: instant({ description: "When it was created", examples: ["2026-03-20T08:59:00.000Z"] }),
      key: CallingKey,
      counts: Counts,
      sendPolicy: sendPolicyShown("the account"),
      searchWords: oneOf(searchWords, {
        description: `Which words of a message are indexed for search: ${searchWordsMeanings}. The operator decides; an inbox may have fewer`,
        examples: ["all"],
      }),
    },
    { description: "The account of the caller, its limits, what the caller may do in it, and how much is there" },
  ),
);

const AccountChange = named(
  "AccountChange",
  Type.Object(
    {
      retentionDays: alsoNamed("retention_days", retentionDays),
      sendPolicy: sendPolicyChange("the account"),
    },
    { description: "The changes. Missing fields stay as they are", examples: [{ retentionDays: 365 }] },
  ),
);

/** The account of the caller, its limits, and the rights of the key, token or session. */
export function account(deps: AccountDeps) {
  return api("/v1/account", "Account")
    .get(
      "",
      ({ account: caller }) => shownAccount(deps, caller),
      operation({
        summary: "Get account",
        access: "any",
        description:
          "The account of the key: its limits (0: no limit), where its mail goes, what the key, token or session may do, and how many inboxes, unread threads and items in the outbox it may read. Every key and token may call this.",
        answers: { 200: Account },
      }),
    )
    .patch(
      "",
      async ({ account: caller, actor, body }) => {
        const { retentionDays, sendPolicy } = body;
        if (retentionDays !== undefined || sendPolicy !== undefined)
          await changeOwnAccount(deps, { accountId: caller.id, actor }, { retentionDays, sendPolicy });
        return shownAccount(deps, caller);
      },
      operation({
        summary: "Change account",
        access: "account",
        description: "Sets how long the mail of the account is kept, and to whom the account may send.",
        body: AccountChange,
        answers: { 200: Account },
      }),
    );
}

async function shownAccount(deps: AccountDeps, caller: Caller) {
  const found = await findShownAccount(deps.db.api, {
    reach: caller.reach,
    keyId: caller.keyId,
    outboxKinds: listedKindsOf(caller),
  });
  if (found === undefined) throw new Error("Cannot show account: it is gone");
  const { loopEchoes: _, receivesPerMinute, ...limits } = limitsOf(deps.limits, found);
  return {
    id: found.id,
    name: found.name,
    plan: found.plan,
    limits: { ...limits, mailBytes: deps.sendMaxBytes, receivesPerMinute },
    suspended: found.suspended,
    retentionDays: found.retentionDays,
    mailDomain: deps.mailDomain,
    outbound: deps.outbound === "smtp" ? ("relay" as const) : deps.outbound,
    createdAt: found.createdAt.toISOString(),
    key: callingKey(caller, found.keyName),
    counts: found.counts,
    sendPolicy: found.sendPolicy,
    searchWords: found.searchWords ?? deps.searchWords[found.plan],
  };
}

/** The kinds of items in the outbox that a caller may list; undefined if it may not list the outbox. */
function listedKindsOf(caller: Caller) {
  return callers.read.some((access) => access === caller.access) ? itemKindsOf(caller) : undefined;
}

/**
 * The caller's key. A token has the id and name of its key, and its own access, inbox and expiry. A session has the
 * rights of its key until it expires.
 */
function callingKey({ keyId, access, reach, expiresAt }: Caller, name: string | null) {
  return {
    id: keyId,
    name,
    access,
    inboxId: reach.inboxId ?? null,
    externalId: reach.externalId ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}
