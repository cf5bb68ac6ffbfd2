import type { Schemas } from "../api.ts";
import { formatDay, formatMonth, formatNumber, formatWeekday } from "../format.ts";

type UsedDay = Pick<Schemas["Usage"]["data"][number], "day" | "received" | "sent">;

/** The days of one bar: one day, or a week if there are many. */
interface Span {
  from: Date;
  to: Date;
  received: number;
  sent: number;
}

const dayMs = 86_400_000;

/** The day in UTC, as `2026-03-21`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** The day that is so many days before another. */
export function daysBefore(at: Date, count: number): string {
  return dayOf(new Date(at.getTime() - count * dayMs));
}

/** The number of mails received and sent each day, in all inboxes. Until it is loaded, the chart shows `days` empty days. */
export function MailByDay({ used, days, until }: { used: readonly UsedDay[] | undefined; days: number; until: Date }) {
  const shown = used ?? emptyDays(days, until);
  const spans = spansOf(shown, shown.length > mostBars ? 7 : 1);
  return (
    <section class="card" aria-labelledby="by-day">
      <header>
        <h2 id="by-day">Mail by {shown.length > mostBars ? "week" : "day"}</h2>
        <span class="quiet-text">UTC</span>
      </header>
      <DaysChart spans={spans} />
    </section>
  );
}

/** More bars would be thinner than a pixel on a phone. */
const mostBars = 92;

function emptyDays(days: number, until: Date): UsedDay[] {
  return Array.from({ length: days }, (_, index) => ({
    day: daysBefore(until, days - 1 - index),
    received: 0,
    sent: 0,
  }));
}

/** Adds up days in groups of this size. The first group may be smaller. */
function spansOf(days: readonly UsedDay[], size: number): Span[] {
  const spans: Span[] = [];
  for (const [index, { day, received, sent }] of days.entries()) {
    // Midnight of this browser, so that the name of the day is that of the day in UTC.
    const at = new Date(`${day}T00:00`);
    const last = spans.at(-1);
    if (last === undefined || (days.length - index) % size === 0) spans.push({ from: at, to: at, received, sent });
    else Object.assign(last, { to: at, received: last.received + received, sent: last.sent + sent });
  }
  return spans;
}

function nameOf({ from, to }: Span): string {
  return from === to ? formatDay(from) : `${formatDay(from)} – ${formatDay(to)}`;
}

/** At most this many bars have their name below them. */
const mostNames = 15;

/** A chart with two bars for each span, and a hidden table with the same numbers for screen readers. */
function DaysChart({ spans }: { spans: readonly Span[] }) {
  const max = Math.max(...spans.flatMap(({ received, sent }) => [received, sent]));
  const top = niceTop(max);
  const step = Math.ceil(spans.length / mostNames);
  return (
    <figure class="days-chart">
      <div class="days-plot" aria-hidden="true">
        <div class="days-scale">
          <span>{formatNumber(top)}</span>
          <span>{top % 2 === 0 ? formatNumber(top / 2) : ""}</span>
          <span>0</span>
        </div>
        <div class="days-columns" style={{ gridTemplateColumns: `repeat(${spans.length}, minmax(0, 1fr))` }}>
          {spans.map((span) => (
            <span
              key={span.from.getTime()}
              class="day-bars"
              title={`${nameOf(span)}: ${formatNumber(span.received)} received, ${formatNumber(span.sent)} sent`}
            >
              <Bar value={span.received} top={top} kind="received" />
              <Bar value={span.sent} top={top} kind="sent" />
            </span>
          ))}
          {spans.map(
            ({ from }, index) =>
              index % step === 0 &&
              index + step <= spans.length && (
                <span
                  key={`name ${from.getTime()}`}
                  class={step === 1 ? "day-name" : "day-name of-several"}
                  style={{ gridColumn: `span ${step}` }}
                >
                  {step === 1 ? formatWeekday(from).slice(0, 2) : formatMonth(from)}
                  <span>{from.getDate()}</span>
                </span>
              ),
          )}
        </div>
      </div>
      <figcaption>
        <span class="key received">
          Received {formatNumber(spans.reduce((sum, { received }) => sum + received, 0))}
        </span>
        <span class="key sent">Sent {formatNumber(spans.reduce((sum, { sent }) => sum + sent, 0))}</span>
      </figcaption>
      <table class="unseen">
        <caption>Mail by day</caption>
        <thead>
          <tr>
            <th scope="col">Days</th>
            <th scope="col">Received</th>
            <th scope="col">Sent</th>
          </tr>
        </thead>
        <tbody>
          {spans.map((span) => (
            <tr key={span.from.getTime()}>
              <th scope="row">{nameOf(span)}</th>
              <td>{span.received}</td>
              <td>{span.sent}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function Bar({ value, top, kind }: { value: number; top: number; kind: "received" | "sent" }) {
  return <span class={`bar-of ${kind}${value === 0 ? " none" : ""}`} style={{ height: `${(100 * value) / top}%` }} />;
}

/** The top of the scale: the next round number of 4, 5, 10, 20, 40, 50 … */
function niceTop(max: number): number {
  if (max <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(max));
  return ([1, 2, 4, 5, 10].find((step) => step * power >= max) ?? 10) * power;
}
