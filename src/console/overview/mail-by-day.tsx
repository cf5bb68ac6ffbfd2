import type { Schemas } from "../api.ts";
import { formatDay, formatNumber, formatWeekday } from "../format.ts";
import { now } from "../machine.ts";

const days = 14;
const dayMs = 86_400_000;

/** The day in UTC, as `2026-03-21`. */
export function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** The number of mails received and sent each day, in all inboxes. Until it is loaded, the chart is empty. */
export function MailByDay({ usage }: { usage: Schemas["Usage"] | undefined }) {
  const counts = usage?.data.slice(-days) ?? emptyDays();
  return (
    <section class="card" aria-labelledby="by-day">
      <header>
        <h2 id="by-day">Mail by day</h2>
        <span class="quiet-text">UTC</span>
      </header>
      {/* Midnight of this browser, so that the name of the day is that of the day in UTC. */}
      <DaysChart days={counts.map(({ day, received, sent }) => ({ at: new Date(`${day}T00:00`), received, sent }))} />
    </section>
  );
}

function emptyDays(): Pick<Schemas["Usage"]["data"][number], "day" | "received" | "sent">[] {
  return Array.from({ length: days }, (_, index) => ({
    day: dayOf(new Date(now().getTime() - (days - 1 - index) * dayMs)),
    received: 0,
    sent: 0,
  }));
}

interface DayCount {
  at: Date;
  received: number;
  sent: number;
}

/** A chart with two bars for each day, and a hidden table with the same numbers for screen readers. */
function DaysChart({ days }: { days: readonly DayCount[] }) {
  const max = Math.max(...days.flatMap(({ received, sent }) => [received, sent]));
  const top = niceTop(max);
  return (
    <figure class="days-chart">
      <div class="days-plot" aria-hidden="true">
        <div class="days-scale">
          <span>{formatNumber(top)}</span>
          <span>{top % 2 === 0 ? formatNumber(top / 2) : ""}</span>
          <span>0</span>
        </div>
        <div class="days-columns">
          {days.map(({ at, received, sent }) => (
            <div
              key={at.getTime()}
              class="day"
              title={`${formatDay(at)}: ${formatNumber(received)} received, ${formatNumber(sent)} sent`}
            >
              <span class="day-bars">
                <Bar value={received} top={top} kind="received" />
                <Bar value={sent} top={top} kind="sent" />
              </span>
              <span class="day-name">
                {formatWeekday(at).slice(0, 2)}
                <span>{at.getDate()}</span>
              </span>
            </div>
          ))}
        </div>
      </div>
      <figcaption>
        <span class="key received">Received {formatNumber(days.reduce((sum, { received }) => sum + received, 0))}</span>
        <span class="key sent">Sent {formatNumber(days.reduce((sum, { sent }) => sum + sent, 0))}</span>
      </figcaption>
      <table class="unseen">
        <caption>Mail by day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Received</th>
            <th scope="col">Sent</th>
          </tr>
        </thead>
        <tbody>
          {days.map(({ at, received, sent }) => (
            <tr key={at.getTime()}>
              <th scope="row">{formatDay(at)}</th>
              <td>{received}</td>
              <td>{sent}</td>
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
