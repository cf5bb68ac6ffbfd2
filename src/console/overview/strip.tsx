import type { ComponentChildren } from "preact";
import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { formatCount, formatLatency, formatNumber, formatRate, formatSpan } from "../format.ts";

type Stats = Schemas["Stats"];
type Minute = Stats["perMinute"][number];
type Kind = Exclude<keyof Minute, "at">;

/** The number of these events in the minutes of the stats. */
export function sumOf(stats: Stats | undefined, kind: Kind): number {
  return stats?.perMinute.reduce((sum, minute) => sum + minute[kind], 0) ?? 0;
}

/** How mail flows: in and out a minute, how much of it bounces, and how long deliveries and the outbox take. */
export function Strip({ stats }: { stats: Stats | undefined }) {
  const [received, sent, bounced] = [sumOf(stats, "received"), sumOf(stats, "sent"), sumOf(stats, "bounced")];
  const { p50Ms = null, p99Ms = null } = stats?.delivery ?? {};
  const { oldestSeconds = null, count = 0 } = stats?.outbox ?? {};
  const share = sent === 0 ? undefined : bounced / sent;
  const perMinute = (sum: number) => stats && formatRate(sum / stats.perMinute.length);
  return (
    <ul class="figures" aria-label="The last hour">
      <Figure
        name="In a minute"
        value={perMinute(received)}
        to={href("inboxes")}
        note={`${formatNumber(received)} in an hour`}
      >
        <Sparkline of={stats} kind="received" />
      </Figure>
      <Figure name="Out a minute" value={perMinute(sent)} to={href("events")} note={`${formatNumber(sent)} in an hour`}>
        <Sparkline of={stats} kind="sent" />
      </Figure>
      <Figure
        name="Bounce rate"
        value={share === undefined ? undefined : `${formatRate(100 * share)} %`}
        to={href("suppressions")}
        note={`${formatNumber(bounced)} of ${formatNumber(sent)} sent`}
        isBad={share !== undefined && share > highBounceRate}
      >
        <Sparkline of={stats} kind="bounced" />
      </Figure>
      <Figure
        name="Delivery, p50"
        value={p50Ms === null ? undefined : formatLatency(p50Ms)}
        to={href("webhooks")}
        note={p99Ms === null ? "none in an hour" : `p99 ${formatLatency(p99Ms)}`}
      />
      <Figure
        name="Oldest in outbox"
        value={oldestSeconds === null ? undefined : formatSpan(oldestSeconds)}
        to={href("outbox")}
        note={count === 0 ? "nothing waits" : formatCount(count, "item")}
      />
    </ul>
  );
}

/** Mailbox providers begin to refuse senders above this share. */
const highBounceRate = 0.05;

interface FigureProps {
  name: string;
  /** Undefined until it is loaded, or if there is none. */
  value: string | undefined;
  note: string;
  to: string;
  isBad?: boolean;
  children?: ComponentChildren;
}

function Figure({ name, value = "–", note, to, isBad = false, children }: FigureProps) {
  return (
    <li>
      <a href={to}>
        <span class="figure-name">{name}</span>
        <strong class="figure">{value}</strong>
        <span class={isBad ? "figure-note bad" : "figure-note"}>{note}</span>
        {children}
      </a>
    </li>
  );
}

/** The minutes of one kind of event as bars. Screen readers have the sum beside it. */
function Sparkline({ of, kind }: { of: Stats | undefined; kind: Kind }) {
  const counts = of?.perMinute.map((minute) => minute[kind]) ?? [];
  const top = Math.max(1, ...counts);
  return (
    <svg
      class={`sparkline ${kind}`}
      viewBox={`0 0 ${Math.max(1, counts.length)} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={counts.map((count, minute) => (count === 0 ? "" : `M${minute} 1V${1 - count / top}h.8V1z`)).join("")} />
    </svg>
  );
}
