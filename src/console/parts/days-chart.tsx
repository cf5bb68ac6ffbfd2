import { countWords, dayWords, numberWords, weekdayWords } from "../words.ts";

export interface DayCount {
  at: Date;
  received: number;
  sent: number;
}

/** Two bars a day. Who sees no drawing reads the table behind it. */
export function DaysChart({ days }: { days: readonly DayCount[] }) {
  const most = Math.max(...days.flatMap(({ received, sent }) => [received, sent]));
  const top = niceTop(most);
  return (
    <figure class="days-chart">
      <div class="days-plot" aria-hidden="true">
        <div class="days-scale">
          <span>{numberWords(top)}</span>
          <span>{top % 2 === 0 ? numberWords(top / 2) : ""}</span>
          <span>0</span>
        </div>
        <div class="days-columns">
          {days.map(({ at, received, sent }) => (
            <div
              key={at.getTime()}
              class="day"
              title={`${dayWords(at)}: ${countWords(received, "mail", "mails")} in, ${numberWords(sent)} out`}
            >
              <span class="day-bars">
                <Bar value={received} top={top} kind="received" />
                <Bar value={sent} top={top} kind="sent" />
              </span>
              <span class="day-name">
                {weekdayWords(at).slice(0, 2)}
                <span>{at.getDate()}</span>
              </span>
            </div>
          ))}
        </div>
      </div>
      <figcaption>
        <span class="key received">In {numberWords(days.reduce((sum, { received }) => sum + received, 0))}</span>
        <span class="key sent">Out {numberWords(days.reduce((sum, { sent }) => sum + sent, 0))}</span>
      </figcaption>
      <table class="unseen">
        <caption>Mail by day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">In</th>
            <th scope="col">Out</th>
          </tr>
        </thead>
        <tbody>
          {days.map(({ at, received, sent }) => (
            <tr key={at.getTime()}>
              <th scope="row">{dayWords(at)}</th>
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

/** The next of 1, 2, 4, 5, 10, 20 … that holds all, so that the scale has round numbers. */
function niceTop(most: number): number {
  if (most <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 5, 10].find((step) => step * power >= most) ?? 10) * power;
}
