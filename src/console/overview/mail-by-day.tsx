import { useState } from "preact/hooks";
import { inboxd, type Schemas } from "../api.ts";
import { useReloadAt } from "../live.ts";
import { clock, now } from "../machine.ts";
import { type DayCount, DaysChart } from "../parts/days-chart.tsx";
import { severalAtOnce, useLoaded } from "../parts/loaded.ts";
import { startOfDay } from "../words.ts";

const days = 14;
/** Each inbox is asked twice a day of the chart: so many are counted together. */
const mostTogether = 3;

/** How much came and went each day, counted from the totals of the lists. */
export function MailByDay({ inboxes, total }: { inboxes: readonly Schemas["Inbox"][]; total: number }) {
  const isAllPossible = total <= mostTogether;
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const only = chosen ?? (isAllPossible ? "" : inboxes[0]?.id);
  const ids = only === "" ? inboxes.map(({ id }) => id) : [only ?? ""];
  const today = startOfDay(clock.value).getTime();
  const counts = useLoaded(() => countByDay(ids, startOfDay(now())), [ids.join(), today]);
  useReloadAt((event) => event === "message.received" || event === "message.sent", counts.reload);
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
  const asked = starts.flatMap((at) =>
    ids.flatMap((id) =>
      (["inbound", "outbound"] as const).map((direction) => async () => {
        const end = new Date(at);
        end.setDate(end.getDate() + 1);
        const query = { direction, since: at.toISOString(), until: end.toISOString(), limit: 1 };
        const { total } = await inboxd.messages.list(id, query).page();
        return { at, direction, total };
      }),
    ),
  );
  const counts = await severalAtOnce(asked);
  const sum = (at: Date, wanted: string) =>
    counts.reduce((all, count) => all + (count.at === at && count.direction === wanted ? count.total : 0), 0);
  return starts.map((at) => ({ at, received: sum(at, "inbound"), sent: sum(at, "outbound") }));
}
