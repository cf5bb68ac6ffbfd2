import { useState } from "preact/hooks";
import { inboxd, type Schemas } from "../api.ts";
import { formatDay, formatNumber, formatWeekday, startOfDay } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { clock, now } from "../machine.ts";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";

const days = 14;
/** Each inbox costs two requests for each day of the chart, so only this many are counted together. */
const maxTogether = 3;

/** The number of mails received and sent each day, from the totals of the message lists. */
export function MailByDay({ inboxes, total }: { inboxes: readonly Schemas["Inbox"][]; total: number }) {
  const isAllPossible = total <= maxTogether;
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const only = chosen ?? (isAllPossible ? "" : inboxes[0]?.id);
  const ids = only === "" ? inboxes.map(({ id }) => id) : [only ?? ""];
  const today = startOfDay(clock.value).getTime();
  const counts = useLoaded(() => countByDay(ids, startOfDay(now())), [ids.join(), today]);
  useReloadOn((event) => event === "message.received" || event === "message.sent", counts.reload);
  return (
    <section class="card wide-card" aria-labelledby="by-day">
      <header>
        <h2 id="by-day">Mail by day</h2>
        {inboxes.length > 1 && (
          <select aria-label="Inbox" value={only} onChange={(event) => setChosen(event.currentTarget.value)}>
            {isAllPossible && <option value="">All inboxes</option>}
            {inboxes.map(({ id, address }) => (
              <option key={id} value={id}>
                {address}
              </option>
            ))}
          </select>
        )}
      </header>
      <DaysChart days={counts.value ?? emptyDays()} />
    </section>
  );
}

function dayStarts(today: Date): Date[] {
  return Array.from({ length: days }, (_, index) => {
    const at = new Date(today);
    at.setDate(at.getDate() - (days - 1 - index));
    return at;
  });
}

function emptyDays(): DayCount[] {
  return dayStarts(startOfDay(now())).map((at) => ({ at, received: 0, sent: 0 }));
}

async function countByDay(ids: readonly string[], today: Date): Promise<DayCount[]> {
  const starts = dayStarts(today);
  const queries = starts.flatMap((at) =>
    ids.flatMap((id) => (["inbound", "outbound"] as const).map((direction) => ({ at, id, direction }))),
  );
  const counts = await mapAtMost(queries, async ({ at, id, direction }) => {
    const end = new Date(at);
    end.setDate(end.getDate() + 1);
    const query = { direction, since: at.toISOString(), until: end.toISOString(), limit: 1 };
    const { total } = await inboxd.messages.list(id, query).page();
    return { at, direction, total };
  });
  const sum = (at: Date, wanted: string) =>
    counts.reduce((all, count) => all + (count.at === at && count.direction === wanted ? count.total : 0), 0);
  return starts.map((at) => ({ at, received: sum(at, "inbound"), sent: sum(at, "outbound") }));
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
