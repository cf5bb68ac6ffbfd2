import { useState } from "preact/hooks";
import { href, route } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { act } from "../parts/act.ts";
import { AddForm } from "../parts/add-form.tsx";
import { curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Tag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { PolicySection } from "./policy-section.tsx";

type Rule = Schemas["Rule"];
type Direction = Rule["direction"];

const pageSize = 50;
const directionTexts = { inbound: "Inbound", outbound: "Outbound" } as const;
const filters: readonly (readonly [Direction | undefined, string])[] = [
  [undefined, "All"],
  ["inbound", directionTexts.inbound],
  ["outbound", directionTexts.outbound],
];

/** The kinds of rules, in words that an address completes. */
const kinds = [
  { action: "block", direction: "inbound", words: "Block mail from" },
  { action: "allow", direction: "inbound", words: "Allow mail from" },
  { action: "block", direction: "outbound", words: "Block mail to" },
  { action: "allow", direction: "outbound", words: "Allow mail to" },
] as const;

/** The rules and the policy of the account, or of the inbox in the address. */
export function RuleList() {
  const inboxId = route.value.query.get("inbox") ?? undefined;
  const inbox = useLoaded(async () => (inboxId === undefined ? undefined : inboxd.inboxes.get(inboxId)), [inboxId]);
  return (
    <Page
      title="Rules"
      about={
        inboxId === undefined ? (
          "Rules allow or block mail by its addresses, in both directions. A rule that blocks beats all rules that allow."
        ) : (
          <>
            Only for {inbox.value?.address ?? "this inbox"}. <a href={href("rules")}>All rules</a>
          </>
        )
      }
    >
      <Rules inboxId={inboxId} />
      <PolicySection inboxId={inboxId} />
    </Page>
  );
}

/** The rules with a form that adds one. Removing one needs a confirmation. */
function Rules({ inboxId }: { inboxId: string | undefined }) {
  const [direction, setDirection] = useState<Direction | undefined>(undefined);
  const [offset, setOffset] = useState(0);
  const [toRemove, setToRemove] = useState<Rule | undefined>(undefined);
  const query = { inbox_id: inboxId, direction, offset, limit: pageSize };
  const page = useLoaded(() => inboxd.rules.list(query).page(), [direction, offset]);
  const listed = page.value?.data ?? [];

  const remove = ({ id, pattern }: Rule) =>
    act(async () => {
      await inboxd.rules.delete(id);
      return `The rule for ${pattern} is removed`;
    }, page.reload);

  return (
    <>
      <NewRule inboxId={inboxId} onAdded={page.reload} />
      <Tabs
        label="Filter by direction"
        choices={filters}
        chosen={direction}
        onChoose={(name) => {
          setOffset(0);
          setDirection(name);
        }}
      />
      <LoadState of={page} />
      {page.value && listed.length === 0 && (
        <Empty
          icon="rules"
          title={direction === undefined ? "No rules" : "No rules in this direction"}
          command={curl("POST", "v1/rules", '{"direction": "inbound", "action": "block", "pattern": "spam.example"}')}
        >
          <p>The policy below decides about all mail. To block a domain:</p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((rule) => (
            <RuleRow key={rule.id} rule={rule} onRemove={() => setToRemove(rule)} />
          ))}
        </ul>
      )}
      <Pager offset={offset} pageSize={pageSize} total={page.value?.total ?? 0} onMove={setOffset} />
      {toRemove && (
        <Confirm
          title={`Remove the rule for ${toRemove.pattern}?`}
          verb="Remove"
          onDone={(isConfirmed) => {
            setToRemove(undefined);
            if (isConfirmed) void remove(toRemove);
          }}
        >
          <p>Other rules and the policy then decide about its mail.</p>
        </Confirm>
      )}
    </>
  );
}

function NewRule({ inboxId, onAdded }: { inboxId: string | undefined; onAdded: () => void }) {
  async function add(pattern: string, form: FormData): Promise<string> {
    const { action, direction } = kinds[Number(form.get("kind"))] ?? kinds[0];
    const rule = await inboxd.rules.add({ action, direction, pattern, inboxId });
    onAdded();
    return `${rule.pattern} is ${action === "block" ? "blocked" : "allowed"}`;
  }

  return (
    <AddForm
      name="pattern"
      label="Add a rule"
      verb="Add"
      placeholder="*.example.com"
      suffix={
        <select name="kind" aria-label="Kind of rule">
          {kinds.map(({ words }, index) => (
            <option key={words} value={index}>
              {words}
            </option>
          ))}
        </select>
      }
      add={add}
    />
  );
}

function RuleRow({ rule, onRemove }: { rule: Rule; onRemove: () => void }) {
  const { action, direction, pattern, inboxId, externalId, evenUnauthenticated, note, createdAt } = rule;
  const isBlock = action === "block";
  return (
    <li class="row">
      <div class="row-link">
        <span class="strong">{pattern}</span>
        <span class="quiet-text said">
          {directionTexts[direction]} ·{" "}
          {inboxId !== null ? (
            <a href={href("rules", { inbox: inboxId })}>of one inbox</a>
          ) : externalId !== null ? (
            `of the tenant ${externalId}`
          ) : (
            "of the whole account"
          )}
          {evenUnauthenticated && " · even if its sender is not proven"}
          {note !== null && ` · ${note}`}
        </span>
      </div>
      <div class="row-state">
        <Tag tone={isBlock ? "bad" : "good"}>{isBlock ? "Blocked" : "Allowed"}</Tag>
        <span class="quiet-text">
          <Time at={createdAt} />
        </span>
      </div>
      <div class="row-actions">
        <button
          type="button"
          class="quiet small"
          aria-label={`Remove the rule for ${pattern}`}
          title="Remove"
          onClick={onRemove}
        >
          <Icon name="remove" />
        </button>
      </div>
    </li>
  );
}
