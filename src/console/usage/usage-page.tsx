import { go, href, route } from "../address.ts";
import { inboxd, isNotFound, type Schemas } from "../api.ts";
import { formatCount, formatNumber, formatSize } from "../format.ts";
import { clock, now } from "../machine.ts";
import { curl } from "../parts/command.tsx";
import { dayOf, daysBefore, MailByDay } from "../parts/days-chart.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Time } from "../parts/time.tsx";
import { Quotas } from "./quotas.tsx";

type Usage = Schemas["Usage"];

const choices = [30, 90] as const;

/** The usage of the account: by day, in total, and by inbox. */
export function UsagePage() {
  const { query } = route.value;
  const chosen = choices.find((days) => `${days}` === query.get("days")) ?? choices[0];
  const isOwnRange = query.has("from") || query.has("to");
  // Without days the service takes the last 30 by its own clock.
  const from = query.get("from") ?? (chosen === choices[0] ? undefined : daysBefore(clock.value, chosen - 1));
  const to = query.get("to") ?? undefined;
  const usage = useLoaded(() => inboxd.account.usage({ from, to }), [from, to, dayOf(clock.value)]);
  const shown = usage.value;

  return (
    <Page
      title="Usage"
      about={
        shown && (
          <>
            Counted up to <Time at={shown.countedUntil} />, by days in UTC
          </>
        )
      }
    >
      <Tabs
        label="Days"
        choices={choices.map((days) => [days, `${days} days`] as const)}
        chosen={isOwnRange ? undefined : chosen}
        onChoose={(days) => go(href("usage", { days: days === choices[0] ? undefined : `${days}` }))}
      />
      <form
        class="actions range"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          go(href("usage", { from: String(form.get("from")), to: String(form.get("to")) }));
        }}
      >
        <label for="from">From</label>
        <input key={`from ${shown?.from}`} id="from" name="from" type="date" required defaultValue={shown?.from} />
        <label for="to">to</label>
        <input key={`to ${shown?.to}`} id="to" name="to" type="date" required defaultValue={shown?.to} />
        <button type="submit">Show</button>
      </form>
      <LoadState of={usage} lines={6} />
      {(shown || usage.error === undefined) && (
        <div class="overview-cards">
          <MailByDay used={shown?.data} days={chosen} until={now()} />
        </div>
      )}
      {shown && (
        <>
          <Totals usage={shown} />
          <Quotas current={shown.current} />
          <ByInbox from={shown.from} to={shown.to} />
        </>
      )}
    </Page>
  );
}

function Totals({ usage: { totals, current } }: { usage: Usage }) {
  const { received, receivedBytes, sent, sentBytes, inboxesCreated } = totals;
  return (
    <ul class="figures totals" aria-label="Totals">
      <Total name="Received" value={received} note={formatSize(receivedBytes)} />
      <Total name="Sent" value={sent} note={formatSize(sentBytes)} />
      <Total name="Inboxes created" value={inboxesCreated} note={`${formatNumber(current.inboxes)} now`} />
      <Total name="Messages now" value={current.messages} note={formatSize(current.storageBytes)} />
    </ul>
  );
}

function Total({ name, value, note }: { name: string; value: number; note: string }) {
  return (
    <li>
      <span class="figure-name">{name}</span>
      <strong class="figure">{formatNumber(value)}</strong>
      <span class="figure-note">{note}</span>
    </li>
  );
}

const mostInboxes = 25;

/** The inboxes with the most mail in these days. */
function ByInbox({ from, to }: { from: string; to: string }) {
  const page = useLoaded(() => usageByInbox(from, to), [from, to]);
  const shown = page.value;
  return (
    <section class="section" aria-labelledby="by-inbox">
      <h2 id="by-inbox">By inbox</h2>
      <LoadState of={page} />
      {shown?.inboxes.length === 0 && (
        <Empty icon="usage" title="No mail in these days" command={curl("GET", "v1/usage?group_by=inbox")}>
          <p>Each inbox with mail in these days appears here. To read the same numbers in a shell:</p>
        </Empty>
      )}
      {shown && shown.inboxes.length > 0 && (
        <ul class="rows">
          {shown.inboxes.map(({ inboxId = null, address, received, receivedBytes, sent, sentBytes }) => (
            <li key={inboxId} class="row">
              <UsedInbox inboxId={inboxId} address={address} />
              <div class="row-state number">
                <span>
                  {formatNumber(received)} received · {formatNumber(sent)} sent
                </span>
                <span class="quiet-text">{formatSize(receivedBytes + sentBytes)}</span>
              </div>
            </li>
          ))}
        </ul>
      )}
      {shown && shown.more > 0 && (
        <p class="section-nothing">and {formatCount(shown.more, "inbox", "inboxes")} with less mail</p>
      )}
    </section>
  );
}

function UsedInbox({ inboxId, address }: { inboxId: string | null; address: string | undefined }) {
  if (inboxId === null) return <span class="row-link">Days that are no longer kept by inbox</span>;
  if (address === undefined) {
    return (
      <span class="row-link">
        <span>Deleted inbox</span>
        <span class="quiet-text">{inboxId}</span>
      </span>
    );
  }
  return (
    <a class="row-link" href={href(`inboxes/${inboxId}`)}>
      <span class="strong">{address}</span>
    </a>
  );
}

/** The usage by inbox, with the addresses of the inboxes that there still are. */
async function usageByInbox(from: string, to: string) {
  const { data } = await inboxd.account.usage({ from, to, group_by: "inbox" });
  const inboxes = await mapAtMost(data.slice(0, mostInboxes), async (used) => ({
    ...used,
    address: used.inboxId ? await addressOf(used.inboxId) : undefined,
  }));
  return { inboxes, more: data.length - inboxes.length };
}

async function addressOf(inboxId: string): Promise<string | undefined> {
  try {
    return (await inboxd.inboxes.get(inboxId)).address;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
