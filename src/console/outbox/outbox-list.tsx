import { useState } from "preact/hooks";
import { go, href, route } from "../address.ts";
import { inboxd } from "../api.ts";
import { unhurried, useReloadOn } from "../live.ts";
import { curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { mapAtMost, useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { SelectionBar, useSelection } from "../parts/selection.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { changeItems, mayChange, type OutboxItem } from "./change-items.ts";
import { ErrorGroups } from "./error-groups.tsx";
import { OutboxRow } from "./outbox-row.tsx";
import { ShareBar } from "./share-bar.tsx";

type State = OutboxItem["state"];
type Kind = OutboxItem["kind"];

const states: readonly State[] = ["ready", "running", "waiting"];
const kinds: readonly (readonly [kind: Kind | undefined, name: string])[] = [
  [undefined, "All"],
  ["relay", "Mail"],
  ["webhook", "Webhooks"],
];

/** The mail and the webhook deliveries that are not done yet. */
export function OutboxList() {
  const state = states.find((name) => name === route.value.query.get("state"));
  const kind = kinds.find(([name]) => name === route.value.query.get("kind"))?.[0];
  const counts = useLoaded(() => mapAtMost(states, (name) => countOf(name, kind)), [kind]);
  useReloadOn(() => true, counts.reload, unhurried);
  const isEmpty = counts.value?.every(({ count }) => count === 0);
  const waiting = counts.value?.find(({ name }) => name === "waiting");

  return (
    <Page title="Outbox" about="Mail and webhook deliveries that are not done yet.">
      <Tabs
        label="Filter by kind"
        choices={kinds}
        chosen={kind}
        onChoose={(name) => go(href("outbox", { state, kind: name }))}
      />
      {counts.value && !isEmpty && (
        <ShareBar
          label="The outbox by state"
          shares={counts.value}
          chosen={state}
          onChoose={(name) => go(href("outbox", { state: name, kind }))}
        />
      )}
      {waiting && <ErrorGroups items={waiting.items} isMore={waiting.isMore} onRetried={counts.reload} />}
      {/* A key for each filter, because a cursor is valid only for its filter. */}
      <OutboxRows key={`${state} ${kind}`} state={state} kind={kind} />
    </Page>
  );
}

/** The oldest items in a state, at most 100, and their number. */
async function countOf(state: State, kind: Kind | undefined) {
  const { data, nextCursor } = await inboxd.outbox.list({ ...filterOf(state, kind), limit: 100 }).page();
  return { name: state, items: data, count: data.length, isMore: nextCursor !== null };
}

function filterOf(state: State | undefined, kind: Kind | undefined) {
  return { ...(state && { state }), ...(kind && { kind }) };
}

function OutboxRows({ state, kind }: { state: State | undefined; kind: Kind | undefined }) {
  const cursors = useCursors();
  const { cursor } = cursors;
  const page = useLoaded(
    () => inboxd.outbox.list({ ...filterOf(state, kind), ...(cursor && { cursor }), limit: 50 }).page(),
    [state, kind, cursor],
  );
  useReloadOn(() => true, page.reload, unhurried);
  const items = page.value?.data ?? [];
  const selection = useSelection(items.filter(mayChange).map(({ id }) => id));
  const selected = items.filter(({ id }) => selection.has(id));
  const [toCancel, setToCancel] = useState<readonly OutboxItem[]>([]);

  async function change(changed: readonly OutboxItem[], action: "retry" | "cancel") {
    selection.clear();
    await changeItems(changed, action);
    page.reload();
  }

  return (
    <>
      <LoadState of={page} />
      {page.value && items.length === 0 && <NoItems isAll={state === undefined && kind === undefined} />}
      {selected.length > 0 && (
        <SelectionBar label="Selected in the outbox" count={selected.length} onClear={selection.clear}>
          <button type="button" class="small" onClick={() => void change(selected, "retry")}>
            Retry now
          </button>
          <button type="button" class="small" onClick={() => setToCancel(selected)}>
            Cancel
          </button>
        </SelectionBar>
      )}
      {items.length > 0 && (
        <ul class="rows">
          {items.map((item) => (
            <OutboxRow
              key={item.id}
              item={item}
              selection={selection}
              onRetry={() => void change([item], "retry")}
              onCancel={() => setToCancel([item])}
            />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {toCancel.length > 0 && (
        <ConfirmCancel
          items={toCancel}
          onDone={(isConfirmed) => {
            setToCancel([]);
            if (isConfirmed) void change(toCancel, "cancel");
          }}
        />
      )}
    </>
  );
}

function NoItems({ isAll }: { isAll: boolean }) {
  if (!isAll) return <p class="section-nothing">None here.</p>;
  return (
    <Empty icon="done" title="The outbox is empty" command={curl("GET", "v1/outbox")}>
      <p>
        Everything has been sent. Mail that a server defers appears here, with the server's reply and the time of the
        next attempt.
      </p>
    </Empty>
  );
}

interface ConfirmCancelProps {
  items: readonly OutboxItem[];
  onDone(isConfirmed: boolean): void;
}

function ConfirmCancel({ items, onDone }: ConfirmCancelProps) {
  const hasMail = items.some(({ kind }) => kind === "relay");
  const hasDeliveries = items.some(({ kind }) => kind === "webhook");
  const what = items.length > 1 ? `${items.length} items` : hasMail ? "mail" : "delivery";
  return (
    <Confirm title={`Cancel ${items.length > 1 ? what : `this ${what}`}?`} verb={`Cancel ${what}`} onDone={onDone}>
      {hasMail && (
        <p>The mail is not sent to recipients that it has not reached yet. Its status becomes failed (canceled).</p>
      )}
      {hasDeliveries && <p>The delivery stops. The event stays in the log and can be delivered again.</p>}
    </Confirm>
  );
}
