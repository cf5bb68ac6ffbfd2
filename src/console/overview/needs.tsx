import type { ComponentChildren } from "preact";
import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { formatCount, formatNumber, formatSpan } from "../format.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Time } from "../parts/time.tsx";
import { sumOf } from "./strip.tsx";

type Endpoint = Schemas["WebhookEndpoint"];

interface Need {
  tone: "bad" | "warm" | "accent";
  icon: IconName;
  to: string;
  text: ComponentChildren;
}

/** Work that waits for longer is stuck: as a rule it is done within seconds. */
const stuckSeconds = 300;

interface Facts {
  counts: Schemas["AccountCounts"];
  stats: Schemas["Stats"] | undefined;
  endpoints: readonly Endpoint[] | undefined;
}

/** The lines that ask for attention, the worst first. */
export function Needs(facts: Facts) {
  const needs = needsOf(facts);
  const isLoaded = facts.stats !== undefined && facts.endpoints !== undefined;
  return (
    <section class="needs" aria-label="What needs you">
      {needs.length === 0 && <p>{isLoaded ? "Nothing needs you" : "\u00a0"}</p>}
      <ul>
        {needs.map(({ tone, icon, to, text }) => (
          <li key={`${icon} ${tone}`}>
            <a href={to} class={`is-${tone}`}>
              <Icon name={icon} />
              <span>{text}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function needsOf({ counts, stats, endpoints = [] }: Facts): Need[] {
  const disabled = endpoints.filter(({ disabledAt, disabledReason }) => disabledAt && disabledReason !== "manual");
  const failing = endpoints.filter(({ disabledAt, failingSince }) => disabledAt === null && failingSince !== null);
  const [bounced, failed] = [sumOf(stats, "bounced"), sumOf(stats, "failed")];
  const { oldestSeconds = null, count = 0 } = stats?.outbox ?? {};
  const isStuck = oldestSeconds !== null && oldestSeconds >= stuckSeconds;
  return [
    ...endpointNeed(disabled, "disabled", "bad", ({ disabledAt }) => disabledAt),
    ...endpointNeed(failing, "failing", "warm", ({ failingSince }) => failingSince),
    ...need(isStuck, {
      tone: "warm",
      icon: "outbox",
      to: href("outbox"),
      text: (
        <>
          <strong>{formatCount(count, "item")}</strong> in the outbox, the oldest for {formatSpan(oldestSeconds ?? 0)}
        </>
      ),
    }),
    ...need(bounced > 0, {
      tone: "warm",
      icon: "suppressions",
      to: href("suppressions"),
      text: (
        <>
          <strong>{formatCount(bounced, "mail")}</strong> bounced in the last hour
        </>
      ),
    }),
    ...need(failed > 0, {
      tone: "warm",
      icon: "out",
      to: href("events"),
      text: (
        <>
          <strong>{formatCount(failed, "mail")}</strong> failed in the last hour
        </>
      ),
    }),
    ...need(counts.awaitingApproval > 0, {
      tone: "warm",
      icon: "done",
      to: href("approvals"),
      text: (
        <>
          <strong>{formatCount(counts.awaitingApproval, "mail")}</strong> to approve
        </>
      ),
    }),
    ...need(counts.unreadThreads > 0, {
      tone: "accent",
      icon: "inboxes",
      to: href("inboxes"),
      text: (
        <>
          <strong>{formatNumber(counts.unreadThreads)}</strong> unread{" "}
          {counts.unreadThreads === 1 ? "thread" : "threads"}
        </>
      ),
    }),
  ];
}

function need(isThere: boolean, shown: Need): Need[] {
  return isThere ? [shown] : [];
}

/** One line for all endpoints in a state, with a link to the endpoint if it is the only one. */
function endpointNeed(
  endpoints: readonly Endpoint[],
  state: "disabled" | "failing",
  tone: Need["tone"],
  sinceOf: (endpoint: Endpoint) => string | null,
): Need[] {
  const [first] = endpoints;
  if (first === undefined) return [];
  const since = endpoints.map(sinceOf).reduce((one, other) => ((one ?? "") < (other ?? "") ? one : other));
  return [
    {
      tone,
      icon: "webhooks",
      to: href(endpoints.length === 1 ? `webhooks/${first.id}` : "webhooks"),
      text: (
        <>
          <strong>{formatCount(endpoints.length, "webhook")}</strong> {state} since{" "}
          {since && <Time at={since} as="short" />}
        </>
      ),
    },
  ];
}
