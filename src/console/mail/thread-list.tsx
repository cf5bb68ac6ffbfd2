import { useEffect, useRef, useState } from "preact/hooks";
import { place } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { useEvents, useReloadAt } from "../live.ts";
import { Fault } from "../parts/fault.tsx";
import { useTitle } from "../parts/page.tsx";
import { type Rows, useRows } from "../parts/rows.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import { FoundRow } from "./found-row.tsx";
import { ListEmpty } from "./list-empty.tsx";
import { ListHead, type View } from "./list-head.tsx";
import { type Selected, toggled, useListKeys } from "./list-keys.ts";
import { type AsOf, isReadNow, nextStep } from "./marking.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { ThreadRow } from "./thread-row.tsx";

const rowHeight = 68;

/** New mail is seen at once, and a burst of it asks ten times a second at most. */
const newMailMs = 100;

/** Where each list stood when one left it. */
const tops = new Map<string, number>();

interface ThreadListProps {
  inbox: Schemas["Inbox"];
  openId: string | undefined;
}

export function ThreadList({ inbox, openId }: ThreadListProps) {
  const [asked, setAsked] = useState(viewHere);
  useEffect(() => {
    // An open thread says nothing of the list: it stays as it was.
    if (openId === undefined) setAsked(viewHere());
  }, [place.value]);
  const { view, words } = asked;
  const name = `${inbox.id} ${view} ${words}`;
  const threads = useRows<AsOf<Schemas["Thread"]>>({
    name,
    ask: (page) =>
      view === "search"
        ? nothing
        : asOfNow(inboxd.threads.list(inbox.id, { ...page, ...(view === "unread" && { is_read: false }) }).page()),
    hasLeft: (thread) => view === "unread" && isReadNow(thread),
  });
  const found = useRows<Schemas["ListedMessage"]>({
    name,
    ask: (page) =>
      view === "search" && words !== "" ? inboxd.messages.list(inbox.id, { ...page, q: words }).page() : nothing,
  });
  const rows: Rows<AsOf<Schemas["Thread"]> | Schemas["ListedMessage"]> = view === "search" ? found : threads;
  const [current, setCurrent] = useState(-1);
  const [selected, setSelected] = useState<Selected>(new Map());
  const [fresh, setFresh] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  useTitle(inbox.address);
  useEffect(() => {
    setCurrent(-1);
    setSelected(new Map());
    setFresh(0);
  }, [name]);

  function refresh() {
    if (scroller.current !== null) scroller.current.scrollTop = 0;
    setFresh(0);
    rows.reload();
  }

  useEvents(({ event, inbox_id }) => {
    if (inbox_id === inbox.id && view !== "search" && event === "message.received") setFresh((count) => count + 1);
  });
  useReloadAt(
    (event, { inbox_id }) => inbox_id === inbox.id && event.startsWith("message."),
    () => {
      const element = scroller.current;
      const isUnderHand = element !== null && (element.scrollTop > 0 || element.matches(":hover"));
      // Nothing moves that one is about to press; in the unread view nothing leaves by itself.
      if (!isUnderHand && view === "all") rows.reload();
    },
    newMailMs,
  );

  useListKeys({
    ...{ view, openId, current, setCurrent, scroller, search, selected, setSelected, rowHeight, threads },
    total: rows.total,
    idAt: (index) => rows.at(index)?.threadId,
  });

  const total = rows.total;
  return (
    <section class="threads" aria-label="Threads">
      <ListHead inbox={inbox} view={view} words={words} search={search} />
      {selected.size > 0 ? (
        <SelectionBar selected={selected} onDone={() => setSelected(new Map())} />
      ) : (
        <FreshPill count={fresh} onPress={refresh} />
      )}
      {rows.error !== undefined && <Fault error={rows.error} again={rows.reload} />}
      {total === 0 ? (
        <ListEmpty inbox={inbox} view={view} words={words} />
      ) : (
        <VirtualList
          key={name}
          label={view === "search" ? "Messages found" : "Threads"}
          count={total ?? 0}
          rowHeight={rowHeight}
          current={current}
          onRange={rows.want}
          startTop={tops.get(name) ?? 0}
          onScroll={(top) => tops.set(name, top)}
          scroller={scroller}
          row={(index) => (
            <ListRow
              {...{ view, openId, found: found.at(index), thread: threads.at(index), own: inbox.address }}
              isCurrent={index === Math.max(0, current)}
              selected={selected}
              onFocus={() => setCurrent(index)}
              onSelect={setSelected}
            />
          )}
        />
      )}
    </section>
  );
}

const nothing = Promise.resolve({ data: [], total: 0 });

async function asOfNow(asked: Promise<{ data: Schemas["Thread"][]; total: number }>) {
  const asOf = nextStep();
  const { data, total } = await asked;
  return { data: data.map((thread) => ({ ...thread, asOf })), total };
}

function viewHere(): { view: View; words: string } {
  const { query } = place.value;
  const asked = query.get("view");
  const words = query.get("q") ?? "";
  return { view: asked === "unread" || asked === "search" ? asked : "all", words };
}

/** New mail moves nothing that one is about to press: it is told here, until one asks for it. */
function FreshPill({ count, onPress }: { count: number; onPress: () => void }) {
  return (
    <div class="fresh" role="status">
      {count > 0 && (
        <button type="button" class="fresh-pill" onClick={onPress}>
          {count} new
        </button>
      )}
    </div>
  );
}

interface ListRowProps {
  view: View;
  thread: AsOf<Schemas["Thread"]> | undefined;
  found: Schemas["ListedMessage"] | undefined;
  own: string;
  openId: string | undefined;
  isCurrent: boolean;
  selected: Selected;
  onFocus(): void;
  onSelect(selected: Selected): void;
}

/** A row of either list; a still one where it is on its way. */
function ListRow({ view, thread, found, own, openId, isCurrent, selected, onFocus, onSelect }: ListRowProps) {
  if (view === "search") {
    if (found === undefined) return <div class="thread-coming" />;
    return <FoundRow message={found} isOpen={found.threadId === openId} {...{ isCurrent, onFocus }} />;
  }
  if (thread === undefined) return <div class="thread-coming" />;
  return (
    <ThreadRow
      {...{ thread, own, isCurrent, onFocus }}
      isOpen={thread.id === openId}
      isSelected={selected.has(thread.id)}
      onSelect={() => onSelect(toggled(selected, thread))}
    />
  );
}
