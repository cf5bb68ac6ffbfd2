import { Type } from "@sinclair/typebox";
import type { Deps } from "../../../flows/deps.ts";
import { systemState } from "../../../flows/read/system-state.ts";
import { outboxKinds } from "../../../store/outbox/items.ts";
import { named } from "../../document/schema.ts";
import { adminPath, api } from "../../shell/app.ts";
import { oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { AuditPage, AuditQuery, shownAudit } from "../account/audit.ts";

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
