import { type Static, Type } from "@sinclair/typebox";
import { isWholeAccount } from "../../../domain/access/access.ts";
import { Refusal } from "../../../domain/errors.ts";
import { defaultInboundPolicy as defaults, inboundChoices, sendPolicies } from "../../../domain/policy.ts";
import { changePolicy, deletePolicy, type ShownPolicy, shownPolicy } from "../../../flows/account/manage-policies.ts";
import type { RuleDeps } from "../../../flows/account/manage-rules.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { nothing, nullable, oneOf, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { inboxPath, ownedInbox } from "./inboxes.ts";
import { sendPolicyMeanings } from "./send-policy.ts";

/** The descriptions of the fields. */
const about = {
  unlisted:
    "Mail that no allow rule matches. `replies`: it is taken if it joins a thread in which the inbox has written",
  unauthenticated: "Mail whose verdict is not `pass`",
  dmarc: "Mail whose verdict is `fail`, while its domain asks for `quarantine` or `reject`. `honour`: it is blocked",
  spam: "Mail that the operator's spam filter calls spam",
  blocked: "Mail that was blocked. `refuse`: its sender is told so, if all recipients refuse it",
} as const;

const Inbound = named(
  "InboundPolicy",
  Type.Object(
    {
      unlisted: oneOf(inboundChoices.unlisted, { description: about.unlisted }),
      unauthenticated: oneOf(inboundChoices.unauthenticated, { description: about.unauthenticated }),
      dmarc: oneOf(inboundChoices.dmarc, { description: about.dmarc }),
      spam: oneOf(inboundChoices.spam, { description: about.spam }),
      blocked: oneOf(inboundChoices.blocked, { description: about.blocked }),
    },
    { description: "What happens to inbound mail that no rule decides" },
  ),
);

const NewInbound = named(
  "NewInboundPolicy",
  Type.Object(
    {
      unlisted: Type.Optional(
        oneOf(inboundChoices.unlisted, { description: about.unlisted, default: defaults.unlisted }),
      ),
      unauthenticated: Type.Optional(
        oneOf(inboundChoices.unauthenticated, {
          description: about.unauthenticated,
          default: defaults.unauthenticated,
        }),
      ),
      dmarc: Type.Optional(oneOf(inboundChoices.dmarc, { description: about.dmarc, default: defaults.dmarc })),
      spam: Type.Optional(oneOf(inboundChoices.spam, { description: about.spam, default: defaults.spam })),
      blocked: Type.Optional(oneOf(inboundChoices.blocked, { description: about.blocked, default: defaults.blocked })),
    },
    {
      description: "What happens to inbound mail that no rule decides. Missing fields get their defaults",
      examples: [{ unlisted: "replies", unauthenticated: "block" }],
    },
  ),
);

const Policy = named(
  "Policy",
  Type.Object(
    {
      inherited: nullable(oneOf(["account", "tenant"]), {
        description: "Where `inbound` comes from; null: this is the own policy of the inbox, the tenant or the account",
        examples: [null],
      }),
      inbound: Inbound,
      sendPolicy: Type.Optional(oneOf(sendPolicies, { description: `Only of a tenant. ${sendPolicyMeanings}` })),
    },
    { description: "A policy: what happens to mail that no rule decides" },
  ),
);

const PolicyChange = named(
  "PolicyChange",
  Type.Object(
    {
      inbound: Type.Optional(NewInbound),
      sendPolicy: alsoNamed(
        "send_policy",
        Type.Optional(
          oneOf(sendPolicies, {
            description: `Only of a tenant. ${sendPolicyMeanings}. It stays if it is left out, and needs a key that reaches the whole account`,
          }),
        ),
      ),
    },
    {
      description: "The new policy, which replaces the earlier one",
      examples: [{ inbound: { unlisted: "replies", unauthenticated: "block" } }],
    },
  ),
);

const InboxPolicyChange = named(
  "InboxPolicyChange",
  Type.Object(
    { inbound: Type.Optional(NewInbound) },
    {
      description: "The new policy, which replaces the earlier one",
      examples: [{ inbound: { unlisted: "replies", unauthenticated: "block" } }],
    },
  ),
);

const tenant = { min: 1, max: 255, examples: [examples.externalId] };
const PolicyQuery = Type.Object({
  external_id: alsoNamed(
    "externalId",
    Type.Optional(text({ ...tenant, description: "The policy of this tenant, in place of that of the account" })),
  ),
});
const TenantQuery = Type.Object({
  external_id: alsoNamed("externalId", text({ ...tenant, description: "The tenant whose policy is removed" })),
});

/** The policies of an account, of its tenants and of its inboxes. */
export function policies(deps: RuleDeps) {
  return [ofAccount(deps), ofInbox(deps)];
}

function ofAccount(deps: RuleDeps) {
  return api("/v1/policy", "Rules")
    .get(
      "",
      async ({ account, query }) => toPolicy(await shownPolicy(deps, account, scopeNamed(query.external_id))),
      operation({
        summary: "Get policy",
        access: "full",
        description:
          "What happens to inbound mail of the account, or of a tenant, that no rule decides. The policy of an inbox counts before that of its tenant, and that before the one of the account, each as a whole.",
        query: PolicyQuery,
        answers: { 200: Policy },
      }),
    )
    .put(
      "",
      async ({ account, actor, query, body }) => {
        const { external_id: externalId } = query;
        const isOfAccount = externalId === undefined && isWholeAccount(account.reach);
        if (isOfAccount && body.sendPolicy !== undefined) throw onlyOfTenant();
        const change = { inbound: inboundOf(body.inbound), sendPolicy: body.sendPolicy };
        return toPolicy(await changePolicy(deps, account, actor, scopeNamed(externalId), change));
      },
      operation({
        summary: "Change policy",
        access: "full",
        description:
          "Replaces the policy of the account, or of a tenant. It is in force within a second. Fields that are left out get their defaults.",
        query: PolicyQuery,
        body: PolicyChange,
        answers: { 200: Policy },
        refuses: ["rule_limit_reached"],
      }),
    )
    .delete(
      "",
      async ({ account, actor, query, set }) => {
        await deletePolicy(deps, account, actor, { externalId: query.external_id });
        set.status = 204;
      },
      operation({
        summary: "Delete policy",
        access: "full",
        description:
          "Removes the policy of a tenant, so that the one of the account counts. A key of the tenant itself leaves its `sendPolicy`.",
        query: TenantQuery,
        answers: { 204: nothing("Removed") },
      }),
    );
}

function ofInbox(deps: RuleDeps) {
  const whenRefused = whetherThere((reach, id) => ownedInbox(deps, reach, id));
  return api("/v1/inboxes", "Rules")
    .get(
      "/:id/policy",
      async ({ account, params }) => toPolicy(await shownPolicy(deps, account, { inboxId: params.id })),
      operation({
        summary: "Get inbox policy",
        access: "full",
        description: "What happens to inbound mail of the inbox that no rule decides, and where that comes from.",
        path: inboxPath,
        whenRefused,
        answers: { 200: Policy },
      }),
    )
    .put(
      "/:id/policy",
      async ({ account, actor, params, body }) => {
        const change = { inbound: inboundOf(body.inbound), sendPolicy: undefined };
        return toPolicy(await changePolicy(deps, account, actor, { inboxId: params.id }, change));
      },
      operation({
        summary: "Change inbox policy",
        access: "full",
        description:
          "Gives the inbox a policy of its own, which counts as a whole in place of that of its tenant or account. It is in force within a second. Fields that are left out get their defaults.",
        path: inboxPath,
        whenRefused,
        body: InboxPolicyChange,
        answers: { 200: Policy },
        refuses: ["rule_limit_reached"],
      }),
    )
    .delete(
      "/:id/policy",
      async ({ account, actor, params, set }) => {
        await deletePolicy(deps, account, actor, { inboxId: params.id });
        set.status = 204;
      },
      operation({
        summary: "Delete inbox policy",
        access: "full",
        description: "Removes the policy of the inbox, so that the one of its tenant or account counts.",
        path: inboxPath,
        whenRefused,
        answers: { 204: nothing("Removed") },
      }),
    );
}

function scopeNamed(externalId: string | undefined) {
  return externalId === undefined ? {} : { externalId };
}

function inboundOf(given: Static<typeof NewInbound> | undefined) {
  return { ...defaults, ...given };
}

function onlyOfTenant(): Refusal {
  const detail = "is only for the policy of a tenant (`external_id`)";
  return new Refusal("validation_error", `Cannot change policy: "sendPolicy" ${detail}`, {
    faults: [{ pointer: "#/sendPolicy", detail }],
  });
}

function toPolicy({ inherited, inbound, sendPolicy }: ShownPolicy) {
  const { unlisted, unauthenticated, dmarc, spam, blocked } = inbound;
  return {
    inherited,
    inbound: { unlisted, unauthenticated, dmarc, spam, blocked },
    ...(sendPolicy !== undefined && { sendPolicy }),
  };
}
