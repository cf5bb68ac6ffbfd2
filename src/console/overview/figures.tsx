import type { ComponentChildren } from "preact";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatNumber } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { useLoaded } from "../parts/loaded.ts";

export function Figures({ inboxes, total }: { inboxes: readonly Schemas["Inbox"][]; total: number }) {
  const facts = useLoaded(findFigures, []);
  useReloadOn(() => true, facts.reload);
  const { waiting, endpoints } = facts.value ?? {};
  const unread = inboxes.reduce((sum, { unreadThreads }) => sum + unreadThreads, 0);
  return (
    <ul class="figures">
      <Figure name="Inboxes" value={total} to={href("inboxes")} />
      <Figure name="Unread threads" value={unread} to={href("inboxes")} isMarked={unread !== 0}>
        {total > inboxes.length && `in the newest ${inboxes.length}`}
      </Figure>
      <Figure name="In the outbox" value={waiting?.count} to={href("outbox")}>
        {waiting?.isMore && "or more"}
      </Figure>
      <Figure
        name="Webhooks"
        value={endpoints?.length}
        to={href("webhooks")}
        isBad={endpoints?.some(isBroken) ?? false}
      >
        {endpoints && stateText(endpoints)}
      </Figure>
    </ul>
  );
}

interface FigureProps {
  name: string;
  /** Undefined until it is loaded. */
  value: number | undefined;
  to: string;
  isMarked?: boolean;
  isBad?: boolean;
  children?: ComponentChildren;
}

function Figure({ name, value, to, isMarked = false, isBad = false, children }: FigureProps) {
  return (
    <li>
      <a href={to}>
        <span class="figure-name">{name}</span>
        <strong class={isMarked ? "figure marked" : "figure"}>{value === undefined ? "–" : formatNumber(value)}</strong>
        <span class={isBad ? "figure-note bad" : "figure-note"}>{children}</span>
      </a>
    </li>
  );
}

async function findFigures() {
  const [outbox, { data: endpoints }] = await Promise.all([
    inboxd.outbox.list({ limit: 100 }).page(),
    inboxd.webhooks.list(),
  ]);
  return {
    waiting: { count: outbox.data.length, isMore: outbox.nextCursor !== null },
    endpoints,
  };
}

function stateText(endpoints: readonly Schemas["WebhookEndpoint"][]): string {
  const broken = endpoints.filter(isBroken).length;
  const off = endpoints.filter(isOffByHand).length;
  if (broken > 0) return `${broken} failing`;
  if (off > 0) return `${off} disabled by you`;
  return endpoints.length === 0 ? "" : "all working";
}

/** Whether the endpoint fails, or was disabled for failing. One that somebody disabled does not count. */
function isBroken(endpoint: Schemas["WebhookEndpoint"]): boolean {
  return !isOffByHand(endpoint) && (endpoint.disabledAt !== null || endpoint.failingSince !== null);
}

function isOffByHand({ disabledAt, disabledReason }: Schemas["WebhookEndpoint"]): boolean {
  return disabledAt !== null && (disabledReason ?? "manual") === "manual";
}
