import { type Static, Type } from "@sinclair/typebox";
import { actorTypes } from "../../../domain/access/actor.ts";
import { auditActions, auditTargets } from "../../../domain/access/audit.ts";
import { Refusal } from "../../../domain/errors.ts";
import type { Deps } from "../../../flows/deps.ts";
import { type AskedAudit, pageAudit } from "../../../flows/read/page-audit.ts";
import { parseInstant } from "../../../standards/instant.ts";
import type { AuditEntry as StoredEntry } from "../../../store/account/audit.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { instant, nextCursor, nullable, oneOf, pageQuery, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { cursorParameter, cursorRow, instantParameter } from "../../shell/parameters.ts";

const AuditEntry = named(
  "AuditEntry",
  Type.Object(
    {
      id: Type.String({ description: "Id of the entry", examples: [examples.auditEntryId] }),
      at: instant({ description: "When it happened" }),
      action: oneOf(auditActions, { description: "What happened", examples: ["inbox.created"] }),
      actor: Type.Object(
        {
          type: oneOf(actorTypes, {
            description:
              "`key`: a key, or a token or browser session of it; `operator`: an operator's key; `cli`: the command line of the service; `service`: the service itself; `approver`: a person with a link for approvals",
          }),
          id: nullable(Type.String(), {
            description: "Id of the key, or address of the approver",
            examples: [examples.keyId],
          }),
          name: nullable(Type.String(), { description: "Name of the key at that time", examples: ["first start"] }),
        },
        { description: "Who did it" },
      ),
      accountId: nullable(Type.String(), {
        description: "The account; null for what concerns the whole service",
        examples: [examples.accountId],
      }),
      target: Type.Object(
        {
          type: oneOf(auditTargets, { description: "What kind of thing", examples: ["inbox"] }),
          id: Type.String({ description: "Its id", examples: [examples.inboxId] }),
        },
        { description: "What was changed" },
      ),
      ip: nullable(Type.String(), { description: "Address of the client, if there was one", examples: ["192.0.2.7"] }),
      requestId: nullable(Type.String(), {
        description: "`X-Request-Id` of the request, if there was one",
        examples: [examples.requestId],
      }),
      details: Type.Object(
        {},
        {
          description: "More about the action. It has no mail and no secret",
          additionalProperties: true,
          examples: [{ username: "ada", externalId: examples.externalId }],
        },
      ),
    },
    { description: "Who did what" },
  ),
);

export const AuditPage = named(
  "AuditPage",
  Type.Object(
    { data: Type.Array(AuditEntry, { description: "Entries, newest first" }), nextCursor: nextCursor() },
    { description: "A page of the audit" },
  ),
);

export const AuditQuery = Type.Object({
  action: Type.Optional(oneOf(auditActions, { description: "Only this action" })),
  actor: Type.Optional(
    text({ max: 100, description: "Only what this key did, by its id, or this type of actor", examples: ["cli"] }),
  ),
  target: Type.Optional(
    text({ max: 300, description: "Only what was done to this thing, by its id", examples: [examples.inboxId] }),
  ),
  since: Type.Optional(instantParameter("Only entries from then on")),
  until: Type.Optional(instantParameter("Only entries before")),
  limit: pageQuery().limit,
  cursor: Type.Optional(cursorParameter()),
});

/** The audit of an account. */
export function audit(deps: Deps) {
  return api("/v1/audit", "Audit").get(
    "",
    async ({ account, query }) => shownAudit(deps, account.id, query),
    operation({
      summary: "List audit entries",
      access: "account",
      description:
        "Changes in the account and their actors, newest first. An entry is written together with its change: neither is there without the other. Receiving and sending mail leaves no entry. Entries are kept for a year (`AUDIT_RETENTION_DAYS`).",
      query: AuditQuery,
      answers: { 200: AuditPage },
    }),
  );
}

/** A page of the audit of an account, or of all accounts and the service. */
export async function shownAudit(deps: Deps, accountId: string | undefined, query: Static<typeof AuditQuery>) {
  const { action, actor, target: targetId, since, until, limit, cursor } = query;
  const question = ["audit", accountId, action, actor, targetId, since, until];
  const last = cursor === undefined ? undefined : cursorRow(cursor, question, "none", "list audit entries");
  if (last instanceof Refusal) throw last;
  const asked: AskedAudit = {
    accountId,
    action,
    actor,
    targetId,
    since: since === undefined ? undefined : parseInstant(since),
    until: until === undefined ? undefined : parseInstant(until),
    beforeId: last?.id,
    limit,
    question,
  };
  const page = await pageAudit(deps, asked);
  return { data: page.data.map(toEntry), nextCursor: page.nextCursor };
}

function toEntry({ id, at, action, actorType, actorId, actorName, ...entry }: StoredEntry) {
  return {
    id,
    at: at.toISOString(),
    action,
    actor: { type: actorType, id: actorId, name: actorName },
    accountId: entry.accountId,
    target: { type: entry.targetType, id: entry.targetId },
    ip: entry.ip,
    requestId: entry.requestId,
    details: entry.details,
  };
}
