import { Type } from "@sinclair/typebox";
import type { Deps } from "../../../flows/deps.ts";
import { mostInboxesShown, usageOfAll } from "../../../flows/read/account-usage.ts";
import { systemState } from "../../../flows/read/system-state.ts";
import { outboxKinds } from "../../../store/outbox/items.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { adminPath, api } from "../../shell/app.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { AuditPage, AuditQuery, shownAudit } from "../account/audit.ts";
import { counts, day, dayRange, rangeOf } from "../account/usage.ts";

const seconds = (description: string) => Type.Integer({ minimum: 0, description, examples: [0] });

const System = named(
  "System",
  Type.Object(
    {
      version: Type.String({ description: "Version of the process that answers", examples: ["1.0.0"] }),
      engine: oneOf(["embedded", "postgres"], { description: "The database", examples: ["postgres"] }),
      schemaStep: Type.String({ description: "The last step of the schema", examples: ["0000_schema"] }),
      outbox: Type.Array(
        Type.Object({
          kind: oneOf(outboxKinds, {
            description: "`relay`: mail to send; `webhook`: events to deliver; `parse`: accepted mail to parse",
          }),
          state: oneOf(["ready", "running", "waiting"], { description: "As in the outbox of an account" }),
          count: Type.Integer({ minimum: 0, description: "How many items", examples: [3] }),
          oldestSeconds: seconds("The age of the oldest one"),
        }),
        { description: "What is still to be done, by kind and state; nothing is left out but what is empty" },
      ),
      searchLagSeconds: seconds("The age of the oldest message that the search does not find yet; 0: none"),
      usageLagSeconds: seconds("How long ago the last mail was counted that /v1/usage shows"),
      domainsFailing: Type.Integer({ minimum: 0, description: "Own domains whose proof is gone", examples: [0] }),
    },
    { description: "The state of the service" },
  ),
);

const UsageOfAll = named(
  "UsageOfAll",
  Type.Object(
    {
      from: day("The first day (UTC)", "2026-03-20"),
      to: day("The last day (UTC)", "2026-03-21"),
      countedUntil: nullable(instant(), { description: "All mail up to this instant is counted; null: none yet" }),
      totals: Type.Object(counts, { description: "The sums of all accounts" }),
      data: Type.Array(
        Type.Object({
          accountId: Type.Optional(Type.String({ description: "By account: its id", examples: [examples.accountId] })),
          day: Type.Optional(day("By day: the day (UTC)", "2026-03-21")),
          ...counts,
        }),
        {
          description: `By day: each day with mail, oldest first. By account: the ${mostInboxesShown} accounts with the most mail, the first one with the most`,
        },
      ),
    },
    { description: "The mail of all accounts" },
  ),
);

const UsageQuery = Type.Object({
  ...dayRange,
  group_by: Type.Optional(
    oneOf(["account", "day"], { default: "account", description: "One entry for each account, or for each day" }),
  ),
});

/** The audit of all accounts, and the state of the service, for operators. */
export function adminService(deps: Deps & { version: string }) {
  return api(adminPath, "Admin")
    .get(
      "/audit",
      async ({ query }) => shownAudit(deps, undefined, query),
      operation({
        summary: "List audit entries of all accounts",
        access: "operator",
        description: "Who changed what, in all accounts and in the service, newest first.",
        query: AuditQuery,
        answers: { 200: AuditPage },
      }),
    )
    .get(
      "/usage",
      async ({ query }) => {
        const range = rangeOf(query, deps.now());
        const { countedUntil, ...used } = await usageOfAll(deps, { ...range, by: query.group_by ?? "account" });
        return { ...range, countedUntil: countedUntil?.toISOString() ?? null, ...used };
      },
      operation({
        summary: "Get usage of all accounts",
        access: "operator",
        description: "Counts the mail of all accounts, by account or by day, as `GET /v1/usage` does for one.",
        query: UsageQuery,
        answers: { 200: UsageOfAll },
      }),
    )
    .get(
      "/system",
      async () => {
        const { outbox, ...state } = await systemState(deps);
        return { version: deps.version, engine: deps.db.engine, ...state, outbox };
      },
      operation({
        summary: "Get system",
        access: "operator",
        description: "How much there is to do, and how far the background work is behind.",
        answers: { 200: System },
      }),
    );
}
