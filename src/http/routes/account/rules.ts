import { Type } from "@sinclair/typebox";
import type { Fault } from "../../../domain/errors.ts";
import { parsePattern, patternForm, ruleActions, ruleDirections } from "../../../domain/rules.ts";
import { addRule, deleteRule, ownedRule, type RuleDeps } from "../../../flows/account/manage-rules.ts";
import { countRules, listRules, type StoredRule } from "../../../store/account/rules.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath, instant, nothing, nullable, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { ownedInbox } from "./inboxes.ts";

const directionMeanings = "`inbound`: mail that comes in; `outbound`: mail that is sent";
const actionMeanings =
  "`block`: such mail is blocked or refused, whatever other rules allow; `allow`: inbound mail of a proven sender is taken, and an outbound recipient is known to `sendPolicy`";
const evenMeaning =
  "Only for an inbound `allow`: the rule also holds for mail whose sender is not proven. Anybody can write such an address into a mail";

const Rule = named(
  "Rule",
  Type.Object(
    {
      id: Type.String({ description: "Id of the rule", examples: [examples.ruleId] }),
      direction: oneOf(ruleDirections, { description: directionMeanings, examples: ["inbound"] }),
      action: oneOf(ruleActions, { description: actionMeanings, examples: ["block"] }),
      pattern: Type.String({
        description: "An address, a domain, or `*.` and a domain for its subdomains, in lower case and with A-labels",
        examples: ["spam.example"],
      }),
      inboxId: nullable(Type.String({ examples: [examples.inboxId] }), {
        description: "The only inbox that it is for",
        examples: [null],
      }),
      externalId: nullable(Type.String({ examples: [examples.externalId] }), {
        description: "The only tenant that it is for; null here and in `inboxId`: the whole account",
        examples: [null],
      }),
      evenUnauthenticated: Type.Boolean({ description: evenMeaning, examples: [false] }),
      note: nullable(Type.String(), { description: "Your own note", examples: ["sells lists of addresses"] }),
      createdAt: instant({ description: "When it was added", examples: [examples.inboxCreatedAt] }),
    },
    { description: "A rule: whose mail is allowed or blocked, or to whom" },
  ),
);

const RulePage = named(
  "RulePage",
  Type.Object(
    {
      data: Type.Array(Rule, { description: "Rules, newest first" }),
      total: totalCount("How many rules there are in all"),
    },
    { description: "A page of rules, and how many there are in all" },
  ),
);

const externalId = { min: 1, max: 255, examples: [examples.externalId] };

const NewRule = named(
  "NewRule",
  Type.Object(
    {
      direction: oneOf(ruleDirections, { description: directionMeanings, examples: ["inbound"] }),
      action: oneOf(ruleActions, { description: actionMeanings, examples: ["block"] }),
      pattern: text({
        max: 320,
        description:
          "`jane@example.com`: this address; `example.com`: all addresses at this domain; `*.example.com`: those at its subdomains, but not at the domain itself",
        examples: ["spam.example"],
        error: patternForm,
      }),
      inboxId: alsoNamed(
        "inbox_id",
        Type.Optional(
          nullable(text({ examples: [examples.inboxId] }), {
            description: "The only inbox that it is for",
            error: "must be a string",
            examples: [null],
          }),
        ),
      ),
      externalId: alsoNamed(
        "external_id",
        Type.Optional(
          nullable(text(externalId), {
            description: "The only tenant that it is for: all inboxes with this `externalId`, now and later",
            error: "must be a string of 1 to 255 characters",
            examples: [null],
          }),
        ),
      ),
      evenUnauthenticated: alsoNamed(
        "even_unauthenticated",
        Type.Optional(Type.Boolean({ description: evenMeaning, default: false })),
      ),
      note: Type.Optional(
        nullable(text({ max: 500, examples: ["sells lists of addresses"] }), {
          description: "Your own note",
          error: "must be a string of at most 500 characters",
        }),
      ),
    },
    {
      description: "The new rule. Without `inboxId` and `externalId` it is for the whole account",
      examples: [{ direction: "inbound", action: "block", pattern: "spam.example" }],
    },
  ),
);

const RuleQuery = Type.Object({
  ...pageQuery(),
  inbox_id: alsoNamed(
    "inboxId",
    Type.Optional(text({ description: "Only rules of this inbox", examples: [examples.inboxId] })),
  ),
  external_id: alsoNamed(
    "externalId",
    Type.Optional(text({ ...externalId, description: "Only rules of this tenant" })),
  ),
  direction: Type.Optional(oneOf(ruleDirections, { description: "Only rules for this direction" })),
  action: Type.Optional(oneOf(ruleActions, { description: "Only rules with this action" })),
});

/** The rules of an account: whose mail is allowed or blocked, and to whom. */
export function rules(deps: RuleDeps) {
  return api("/v1/rules", "Rules")
    .get(
      "",
      async ({ account: { reach }, query }) => {
        const { limit, offset, inbox_id: inboxId, external_id: externalId, direction, action } = query;
        if (inboxId !== undefined) await ownedInbox(deps, reach, inboxId);
        const page = { reach, inboxId, externalId, direction, action, limit, offset };
        const [data, total] = await Promise.all([listRules(deps.db.api, page), countRules(deps.db.api, page)]);
        return { data: data.map(toRule), total };
      },
      operation({
        summary: "List rules",
        access: "full",
        description: "Newest first.",
        query: RuleQuery,
        answers: { 200: RulePage },
        refuses: ["not_found"],
      }),
    )
    .post(
      "",
      async ({ account, actor, body, set }) => {
        const { direction, action, pattern, evenUnauthenticated = false, note = null } = body;
        const { rule, isNew } = await addRule(deps, account, actor, {
          direction,
          action,
          pattern: parsePattern(pattern) ?? "",
          inboxId: body.inboxId ?? undefined,
          externalId: body.externalId ?? undefined,
          evenUnauthenticated,
          note,
        });
        set.status = isNew ? 201 : 200;
        return toRule(rule);
      },
      operation({
        summary: "Add rule",
        access: "full",
        description:
          "The rule is in force within a second. A block rule beats all allow rules, also those of a single inbox. An existing rule with the same direction, action, pattern and inboxes stays as it is (200). An account has at most 10,000 rules, and an inbox 1,000 of its own.",
        body: NewRule,
        alsoWrong: faultsOfRule,
        answers: { 201: Rule, 200: Rule },
        refuses: ["not_found", "rule_limit_reached"],
      }),
    )
    .delete(
      "/:id",
      async ({ account, actor, params, set }) => {
        await deleteRule(deps, account.reach, actor, params.id);
        set.status = 204;
      },
      operation({
        summary: "Delete rule",
        access: "full",
        description: "The rule is no longer in force within a second.",
        path: idPath("rule"),
        whenRefused: whetherThere((reach, id) => ownedRule(deps, reach, id)),
        answers: { 204: nothing("Deleted") },
      }),
    );
}

function faultsOfRule({
  direction,
  action,
  pattern,
  inboxId,
  externalId,
  evenUnauthenticated,
}: Readonly<Record<string, unknown>>): Fault[] {
  const faults: Fault[] = [];
  // The schema reports a longer one.
  if (typeof pattern === "string" && pattern.length <= 320 && parsePattern(pattern) === undefined)
    faults.push({ pointer: "#/pattern", detail: patternForm });
  if (typeof inboxId === "string" && typeof externalId === "string")
    faults.push({ pointer: "#/externalId", detail: "must be left out with `inboxId`" });
  if (evenUnauthenticated === true && (direction !== "inbound" || action !== "allow"))
    faults.push({ pointer: "#/evenUnauthenticated", detail: "is only for an inbound rule that allows" });
  return faults;
}

function toRule(rule: StoredRule) {
  const { id, direction, action, pattern, inboxId, externalId, evenUnauthenticated, note, createdAt } = rule;
  return {
    id,
    direction,
    action,
    pattern,
    inboxId: inboxId === "" ? null : inboxId,
    externalId: externalId === "" ? null : externalId,
    evenUnauthenticated,
    note,
    createdAt: createdAt.toISOString(),
  };
}
