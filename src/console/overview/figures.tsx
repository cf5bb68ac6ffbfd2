import type { ComponentChildren } from "preact";
import { href } from "../address.ts";
import { inboxd, isNotThere, type Schemas } from "../api.ts";
import { useReloadAt } from "../live.ts";
import { findOutbox } from "../outbox/outbox.ts";
import { severalAtOnce, useLoaded } from "../parts/loaded.ts";
import { numberWords } from "../words.ts";

/** So many inboxes are asked for their unread threads: beyond, the sum would cost more than it tells. */
const mostAsked = 40;

export function Figures({ inboxes, total }: { inboxes: readonly Schemas["Inbox"][]; total: number }) {
  const facts = useLoaded(() => findFigures(inboxes), [inboxes.map(({ id }) => id).join()]);
  useReloadAt(() => true, facts.reload);
  const { unread, waiting, endpoints } = facts.value ?? {};
  return (
    <ul class="figures">
      <Figure name="Inboxes" value={total} to={href("inboxes")} />
      <Figure name="Unread threads" value={unread} to={href("inboxes")} isMarked={unread !== 0 && unread !== undefined}>
        {total > mostAsked && `in the newest ${mostAsked}`}
      </Figure>
      {waiting !== null && (
        <Figure name="In the outbox" value={waiting?.count} to={href("outbox")}>
          {waiting?.isMore && "or more"}
        </Figure>
      )}
      <Figure
        name="Webhooks"
        value={endpoints?.length}
        to={href("webhooks")}
        isBad={endpoints?.some(isBroken) ?? false}
      >
        {endpoints && stateWords(endpoints)}
      </Figure>
    </ul>
  );
}

interface FigureProps {
  name: string;
  /** Undefined until it is known: its place is there already. */
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
        <strong class={isMarked ? "figure marked" : "figure"}>{value === undefined ? "–" : numberWords(value)}</strong>
        <span class={isBad ? "figure-note bad" : "figure-note"}>{children}</span>
      </a>
    </li>
  );
}

async function findFigures(inboxes: readonly Schemas["Inbox"][]) {
  const asked = inboxes.slice(0, mostAsked).map(
    ({ id }) =>
      () =>
        inboxd.threads.list(id, { is_read: false, limit: 1 }).page(),
  );
  const [pages, outbox, { data: endpoints }] = await Promise.all([
    severalAtOnce(asked),
    findOutbox({ limit: "100" }).catch(ifNotThere),
    inboxd.webhooks.list(),
  ]);
  return {
    unread: pages.reduce((sum, { total }) => sum + total, 0),
    waiting: outbox === null ? null : { count: outbox.data.length, isMore: outbox.nextCursor !== null },
    endpoints,
  };
}

function stateWords(endpoints: readonly Schemas["WebhookEndpoint"][]): string {
  const broken = endpoints.filter(isBroken).length;
  const off = endpoints.filter(isOffByHand).length;
  if (broken > 0) return `${broken} not answering`;
  if (off > 0) return `${off} disabled by you`;
  return endpoints.length === 0 ? "" : "all answer";
}

/** Whether it fails, or was disabled since it did: not what somebody turned off. */
function isBroken(endpoint: Schemas["WebhookEndpoint"]): boolean {
  return !isOffByHand(endpoint) && (endpoint.disabledAt !== null || endpoint.failingSince !== null);
}

function isOffByHand({ disabledAt, disabledReason }: Schemas["WebhookEndpoint"]): boolean {
  return disabledAt !== null && (disabledReason ?? "manual") === "manual";
}

/** An older service keeps no list of it. */
function ifNotThere(error: unknown): null {
  if (isNotThere(error)) return null;
  throw error;
}
