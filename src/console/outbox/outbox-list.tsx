import { useState } from "preact/hooks";
import { go, href, place } from "../address.ts";
import { useReloadAt } from "../live.ts";
import { curl } from "../parts/curl.ts";
import { CursorPager, useCursors } from "../parts/cursors.tsx";
import { Empty } from "../parts/empty.tsx";
import { ListFault } from "../parts/fault.tsx";
import { severalAtOnce, useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { useSelection } from "../parts/selection.tsx";
import { ShareBar } from "../parts/share-bar.tsx";
import { CancelQuestion } from "./cancel-question.tsx";
import { findOutbox, mayChange, type OutboxItem, type OutboxQuery } from "./outbox.ts";
import { actOn, type OutboxAct } from "./outbox-acts.ts";
import { OutboxRow } from "./outbox-row.tsx";
import { OutboxSelection } from "./outbox-selection.tsx";

const states = ["ready", "running", "waiting"] as const;
const kinds = { all: undefined, mail: "relay", webhooks: "webhook" } as const;

/** What waits to go out: mail and deliveries, with what stood in their way. */
export function OutboxList() {
  const state = place.value.query.get("state") ?? undefined;
  const kind = place.value.query.get("kind") ?? undefined;
  const figures = useLoaded(() => severalAtOnce(states.map((name) => () => figureOf(name, kind))), [kind]);
  useReloadAt(() => true, figures.reload);
  const isEmpty = figures.value?.every(({ count }) => count === 0);

  return (
    <Page title="Outbox" about="What waits to go out: mail, and what your webhooks are told.">
      <fieldset class="tabs" aria-label="Which kind">
        {Object.entries(kinds).map(([name, one]) => (
          <button
            key={name}
            type="button"
            aria-pressed={kind === one}
            onClick={() => go(href("outbox", { state, kind: one }))}
          >
            {name.charAt(0).toUpperCase() + name.slice(1)}
          </button>
        ))}
      </fieldset>
      {figures.value && !isEmpty && (
        <ShareBar
          label="The outbox by state"
          shares={figures.value}
          chosen={state}
          onChoose={(name) => go(href("outbox", { state: name, kind }))}
        />
      )}
      {/* Another question has cursors of its own. */}
      <OutboxRows key={`${state} ${kind}`} state={state} kind={kind} />
    </Page>
  );
}

const mostCounted = 100;

/** How many are in a state, as far as they are counted. */
async function figureOf(name: string, kind: string | undefined) {
  const { data, nextCursor } = await findOutbox({ state: name, kind, limit: String(mostCounted) });
  return { name, count: data.length, isMore: nextCursor !== null };
}

function OutboxRows({ state, kind }: OutboxQuery) {
  const cursors = useCursors();
  const page = useLoaded(
    () => findOutbox({ state, kind, limit: "50", cursor: cursors.cursor }),
    [state, kind, cursors.cursor],
  );
  useReloadAt(() => true, page.reload);
  const items = page.value?.data ?? [];
  const selection = useSelection(items.filter(mayChange).map(({ id }) => id));
  const selected = items.filter(({ id }) => selection.has(id));
  const [leaving, setLeaving] = useState<readonly OutboxItem[]>([]);

  async function act(on: readonly OutboxItem[], what: OutboxAct) {
    selection.clear();
    await actOn(on, what);
    page.reload();
  }

  return (
    <>
      {page.error !== undefined && <ListFault error={page.error} again={page.reload} />}
      {page.isSlow && <Placeholder />}
      {page.value && items.length === 0 && <NothingWaits isAll={state === undefined && kind === undefined} />}
      {selected.length > 0 && (
        <OutboxSelection
          count={selected.length}
          onRetry={() => void act(selected, "retry")}
          onCancel={() => setLeaving(selected)}
          onNone={selection.clear}
        />
      )}
      {items.length > 0 && (
        <ul class="rows">
          {items.map((item) => (
            <OutboxRow
              key={item.id}
              item={item}
              selection={selection}
              onRetry={() => void act([item], "retry")}
              onCancel={() => setLeaving([item])}
            />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {leaving.length > 0 && (
        <CancelQuestion
          items={leaving}
          onDone={(isWanted) => {
            setLeaving([]);
            if (isWanted) void act(leaving, "cancel");
          }}
        />
      )}
    </>
  );
}

function NothingWaits({ isAll }: { isAll: boolean }) {
  if (!isAll) return <p class="section-nothing">None here.</p>;
  return (
    <Empty icon="done" title="Nothing waits" command={curl("GET", "v1/outbox")}>
      <p>
        All that was to go out is out. What a server puts off stands here, with what it said and when it is tried again.
      </p>
    </Empty>
  );
}
