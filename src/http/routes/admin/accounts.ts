import { Type } from "@sinclair/typebox";
import { suspensions } from "../../../domain/access/suspension.ts";
import { notFound, type Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { type Plan, plans } from "../../../domain/limits.ts";
import { searchWords } from "../../../domain/search.ts";
import { changeAccount, deleteAccount } from "../../../flows/account/change-account.ts";
import { createAccount } from "../../../flows/account/manage-accounts.ts";
import type { Deps } from "../../../flows/deps.ts";
import {
  countAdminAccounts,
  findAdminAccount,
  listAdminAccounts,
  type AdminAccount as StoredAccount,
} from "../../../store/account/admin-accounts.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { adminPath, api } from "../../shell/app.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { instant, nullable, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { searchWordsMeanings } from "../account/inbox-shapes.ts";

/** The limits that an operator may set for one account, with what each limits. */
const limitMeanings = {
  sendsPerMinute: "Sends of an inbox in 60 seconds",
  sendsPerDay: "Sends of an inbox in a UTC day",
  coldRecipientDaily: "Sends of an inbox in a UTC day to one recipient that it does not know",
  inboxesPerDay: "Inboxes made in a UTC day",
  inboxes: "Inboxes",
  domains: "Own domains",
  keys: "Keys that are not revoked",
  storageBytes: "Bytes that all mail of the account takes",
  inboxBytes: "Bytes that the mail of one inbox takes",
  receivesPerMinute: "Mails that an inbox receives in 60 seconds",
} as const;

type LimitName = keyof typeof limitMeanings;

const limitNames = Object.keys(limitMeanings) as LimitName[];

function limitFields<Field>(of: (meaning: string) => Field): Record<LimitName, Field> {
  return Object.fromEntries(limitNames.map((name) => [name, of(limitMeanings[name])])) as Record<LimitName, Field>;
}

const number = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, examples: [100] };

const AccountLimitChange = named(
  "AccountLimitChange",
  Type.Object(
    limitFields((meaning) =>
      Type.Optional(
        nullable(Type.Integer(number), {
          description: `${meaning}; 0: no limit; null: the limit of the plan`,
          examples: [100],
        }),
      ),
    ),
    { description: "Limits of this account alone, in place of those of its plan", examples: [{ sendsPerDay: 100 }] },
  ),
);

const overrides = Type.Object(
  limitFields((meaning) => Type.Optional(Type.Integer({ ...number, description: meaning }))),
  { description: "The limits that differ from those of the plan", examples: [{ sendsPerDay: 100 }] },
);

const accountFields = {
  id: Type.String({ description: "Id of the account", examples: [examples.accountId] }),
  name: Type.String({ description: "Name of the account", examples: ["acme"] }),
  plan: oneOf(plans, { description: "The plan, which decides the limits", examples: ["developer"] }),
  limits: Type.Object(
    limitFields((meaning) => Type.Integer({ ...number, description: `${meaning}; 0: no limit` })),
    { description: "The limits in force" },
  ),
  overrides,
  suspended: nullable(oneOf(suspensions), { description: "What is suspended; null: nothing", examples: [null] }),
  reason: nullable(Type.String(), { description: "Why it is suspended", examples: [null] }),
  movedTo: nullable(Type.String(), {
    description: "Host of the cell to which it has moved, which gets its mail; null: it is here",
    examples: [null],
  }),
  retentionDays: nullable(Type.Integer({ minimum: 0 }), {
    description: "Days after which mail is removed; null: the default of the service",
    examples: [null],
  }),
  inboxCount: Type.Integer({ minimum: 0, description: "How many inboxes it has", examples: [12] }),
  storageBytes: Type.Integer({ minimum: 0, description: "Bytes that its mail takes", examples: [1_048_576] }),
  createdAt: instant({ description: "When it was created", examples: ["2026-03-20T08:59:00.000Z"] }),
  lastUsedAt: nullable(instant(), { description: "When one of its keys was last used; null: never" }),
  deletedAt: nullable(instant(), {
    description: "When it was deleted; its rows are removed in steps",
    examples: [null],
  }),
  searchWords: nullable(oneOf(searchWords), {
    description: "Which words of its new mail are indexed for search; null: those of the plan (`SEARCH_WORDS`)",
    examples: [null],
  }),
};

const AdminAccount = named(
  "AdminAccount",
  Type.Object(accountFields, { description: "An account as its operator sees it" }),
);

const CreatedAccount = named(
  "CreatedAccount",
  Type.Object(
    {
      ...accountFields,
      key: Type.String({ description: "Its first key, which is shown only here", examples: [examples.apiKey] }),
    },
    { description: "A new account with its first key" },
  ),
);

const AdminAccountPage = named(
  "AdminAccountPage",
  Type.Object(
    {
      data: Type.Array(AdminAccount, { description: "Accounts, newest first" }),
      total: totalCount("How many accounts there are in all"),
    },
    { description: "A page of accounts" },
  ),
);

const name = text({ min: 1, max: 100, description: "Its name, which no other account has", examples: ["acme"] });
const plan = Type.Optional(oneOf(plans, { description: "Its plan", examples: ["enterprise"] }));
const limits = Type.Optional(AccountLimitChange);

const NewAccount = named(
  "NewAccount",
  Type.Object({ name, plan, limits }, { description: "The new account", examples: [{ name: "acme" }] }),
);

const AdminAccountChange = named(
  "AdminAccountChange",
  Type.Object(
    {
      name: Type.Optional(name),
      plan,
      limits,
      suspended: Type.Optional(
        nullable(oneOf(suspensions), {
          description:
            "`sending`: sends are refused, and accepted mail waits. `all`: also all other requests, and mail gets 450, so that its senders keep it. `moving`: as `all`, while the account moves to another service. Null: nothing",
          examples: ["sending"],
        }),
      ),
      reason: Type.Optional(
        nullable(text({ max: 1000 }), { description: "Why it is suspended", examples: ["spam to 10,000 addresses"] }),
      ),
      searchWords: Type.Optional(
        nullable(oneOf(searchWords), {
          description: `Which words of a message are indexed for search: ${searchWordsMeanings}. Null: those of the plan (\`SEARCH_WORDS\`). It holds for new mail`,
          examples: ["head"],
        }),
      ),
      movedTo: Type.Optional(
        nullable(text({ max: 253 }), {
          description:
            "The host of the cell to which it has moved, one of `CELL_PEERS`: its mail is handed to that cell from now on. Only while `suspended` is `moving`. Null: it is here",
          examples: ["c1.example.com"],
        }),
      ),
    },
    { description: "The changes. Missing fields stay as they are", examples: [{ suspended: "sending" }] },
  ),
);

const AccountQuery = Type.Object({
  ...pageQuery(),
  q: Type.Optional(text({ min: 1, max: 100, description: "Only accounts with this in their name, or with this id" })),
  suspended: Type.Optional(Type.Boolean({ description: "Only accounts that are suspended, or only others" })),
});

export const accountPath = { id: { description: "Id of the account", example: examples.accountId } };

/** All accounts, for operators. */
export function adminAccounts(deps: Deps) {
  const whenRefused = async ({ params }: Refused, refusal: Refusal) => {
    await storedAccount(deps, params.id ?? "");
    return refusal;
  };
  const shown = (account: StoredAccount) => toAdminAccount(deps, account);
  return api(`${adminPath}/accounts`, "Admin")
    .get(
      "",
      async ({ query: { q, suspended, limit, offset } }) => {
        const page = { text: q, isSuspended: suspended, limit, offset };
        const [data, total] = await Promise.all([
          listAdminAccounts(deps.db.api, page),
          countAdminAccounts(deps.db.api, page),
        ]);
        return { data: data.map(shown), total };
      },
      operation({
        summary: "List accounts",
        access: "operator",
        description: "All accounts, newest first. A deleted one is listed until it is removed.",
        query: AccountQuery,
        answers: { 200: AdminAccountPage },
      }),
    )
    .post(
      "",
      async ({ actor, body, set }) => {
        const { plan = "developer", limits = {} } = body;
        const { account, apiKey } = await createAccount(deps, {
          name: body.name,
          plan: plan as Plan,
          limits: limits as Record<LimitName, number | null>,
          actor,
        });
        set.status = 201;
        set.headers.location = `${adminPath}/accounts/${account.id}`;
        set.headers["cache-control"] = "no-store";
        return { ...shown(await storedAccount(deps, account.id)), key: apiKey };
      },
      operation({
        summary: "Create account",
        access: "operator",
        description: "Creates an account and its first key, which reaches all of it and is shown only here.",
        body: NewAccount,
        answers: { 201: CreatedAccount },
        answerHeaders: { 201: { Location: "Path of the account" } },
      }),
    )
    .get(
      "/:id",
      async ({ params }) => shown(await storedAccount(deps, params.id)),
      operation({
        summary: "Get any account",
        access: "operator",
        description: "One account, with its limits and its use.",
        path: accountPath,
        whenRefused,
        answers: { 200: AdminAccount },
      }),
    )
    .patch(
      "/:id",
      async ({ actor, params, body }) => {
        await changeAccount(deps, actor, params.id, body as Parameters<typeof changeAccount>[3]);
        return shown(await storedAccount(deps, params.id));
      },
      operation({
        summary: "Change any account",
        access: "operator",
        description:
          "Renames an account, changes its plan or its limits, suspends it or ends that. All processes act on it within a second, or 30 seconds if they do not hear of each other. The end of a suspension loses nothing: waiting mail goes out.",
        path: accountPath,
        whenRefused,
        body: AdminAccountChange,
        answers: { 200: AdminAccount },
      }),
    )
    .delete(
      "/:id",
      async ({ actor, params, query, set }) => {
        await deleteAccount(deps, actor, params.id, query.confirm);
        set.status = 202;
        return shown(await storedAccount(deps, params.id));
      },
      operation({
        summary: "Delete any account",
        access: "operator",
        description:
          "From now on its keys and its mail are refused, and its name is free. Its inboxes and their mail are erased in steps, within about a day; mail that it had sent before still goes out. Nothing brings it back.",
        path: accountPath,
        whenRefused,
        query: Type.Object({
          confirm: text({ description: "The name of the account", examples: ["acme"] }),
        }),
        answers: { 202: AdminAccount },
      }),
    );
}

/** An account that is not deleted. */
export async function livingAccount(deps: Deps, id: string): Promise<StoredAccount> {
  const account = await storedAccount(deps, id);
  if (account.deletedAt !== null) throw notFound("account");
  return account;
}

async function storedAccount({ db }: Deps, id: string): Promise<StoredAccount> {
  const account = isId("acc", id) ? await findAdminAccount(db.api, id) : undefined;
  if (account === undefined) throw notFound("account");
  return account;
}

function toAdminAccount(deps: Deps, account: StoredAccount) {
  const inForce: Readonly<Partial<Record<string, number>>> = { ...deps.limits[account.plan], ...account.limits };
  return {
    id: account.id,
    name: account.name,
    plan: account.plan,
    limits: Object.fromEntries(limitNames.map((name) => [name, inForce[name] ?? 0])) as Record<LimitName, number>,
    overrides: account.limits,
    suspended: account.suspended,
    reason: account.suspendedReason,
    movedTo: account.movedTo,
    retentionDays: account.retentionDays,
    inboxCount: account.inboxCount,
    storageBytes: account.storageBytes,
    createdAt: account.createdAt.toISOString(),
    lastUsedAt: account.lastUsedAt?.toISOString() ?? null,
    deletedAt: account.deletedAt?.toISOString() ?? null,
    searchWords: account.searchWords,
  };
}
