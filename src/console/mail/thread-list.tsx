import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { route } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { useEvents, useReloadOn } from "../live.ts";
import { curl } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/load-state.tsx";
import { mapAtMost } from "../parts/loaded.ts";
import { useTitle } from "../parts/page.tsx";
import { type Rows, useRows } from "../parts/rows.ts";
import { SelectionBar } from "../parts/selection.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import { may } from "../session.ts";
import { filings } from "./filing.ts";
import { FilingButtons } from "./filing-buttons.tsx";
import { byOffset, hitsOf, type Searched, SearchedNote } from "./found.tsx";
import { isTab, ListHead, type View } from "./list-head.tsx";
import { type Selected, toggled, useListKeys } from "./list-keys.ts";
import { FoundRow, ThreadRow } from "./list-rows.tsx";
import { type AsOf, isReadNow, mark, nextStep } from "./marking.ts";

const rowHeight = 68;

/**
 * The wait before the list is reloaded after an event: new mail seems to appear at once, and a burst of mail reloads
 * the list at most ten times a second.
 */
const newMailMs = 100;

/** The scroll position of each list by its name, restored when the user comes back to it. */
const scrollTops = new Map<string, number>();

interface ThreadListProps {
  inbox: Schemas["Inbox"];
  openId: string | undefined;
  /** Tells whether the list has messages of all inboxes. Then it stays while a thread of another inbox opens. */
  onScope(isAll: boolean): void;
}

export function ThreadList({ inbox, openId, onScope }: ThreadListProps) {
  const [asked, setAsked] = useState(currentView);
  useEffect(() => {
    // The address of an open thread does not name a view, so the list keeps its own.
    if (openId === undefined) setAsked(currentView());
  }, [route.value]);
  const { view, label, search: searchText, isAll } = asked;
  const name = `${inbox.id} ${view} ${isAll ? "all" : "one"} ${searchText}${label}`;
  const hits = useMemo(() => hitsOf(searchText), [searchText]);
  const searchAll = useMemo(
    () => byOffset((page) => inboxd.messages.search({ ...page, q: searchText }).page()),
    [name],
  );
  useEffect(() => onScope(isAll), [isAll]);
  const threads = useRows<AsOf<Schemas["Thread"]>>({
    name,
    load: (range) =>
      view === "search" ? nothing : asOfNow(inboxd.threads.list(inbox.id, { ...range, ...listOf(view, label) }).page()),
    hasLeft: (thread) => view === "unread" && isReadNow(thread),
  });
  /** Which words the last answer looked at, and of which list. */
  const [note, setNote] = useState<{ of: string; searched: Searched }>({ of: "", searched: undefined });
  const found = useRows<Schemas["ListedMessage"]>({
    name,
    async load(range) {
      if (view !== "search" || searchText === "") return nothing;
      const page = await (isAll
        ? searchAll(range)
        : inboxd.messages.list(inbox.id, { ...range, q: searchText }).page());
      setNote({ of: name, searched: page.searched });
      return page;
    },
  });
  const rows: Rows<AsOf<Schemas["Thread"]> | Schemas["ListedMessage"]> = view === "search" ? found : threads;
  const [current, setCurrent] = useState(-1);
  const [selected, setSelected] = useState<Selected>(new Map());
  /** The mails that arrived since the list was loaded, and how many of them the button shows. */
  const arrived = useRef(0);
  const [newCount, setNewCount] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const searchField = useRef<HTMLInputElement>(null);
  useTitle(inbox.address);
  useEffect(() => {
    if (filings.value > 0) rows.reload();
  }, [filings.value]);
  useEffect(() => {
    setCurrent(-1);
    setSelected(new Map());
    showsArrived();
  }, [name]);

  /** The list is loaded with all mail that has arrived. */
  function showsArrived() {
    arrived.current = 0;
    setNewCount(0);
  }

  function refresh() {
    if (scroller.current !== null) scroller.current.scrollTop = 0;
    showsArrived();
    rows.reload();
  }

  /** Shows what arrived. While the list is in use, it only says how much, because no row may move under the pointer. */
  function loadUnlessInUse() {
    const element = scroller.current;
    const isInUse = element !== null && (element.scrollTop > 0 || element.matches(":hover"));
    // In the unread view, threads that were just read stay until the view is opened again.
    if (isInUse || view === "unread" || view === "search") return setNewCount(arrived.current);
    showsArrived();
    rows.reload();
  }

  useEvents(({ event, inbox_id }) => {
    if (inbox_id === inbox.id && (view === "inbox" || view === "unread") && event === "message.received")
      arrived.current += 1;
  });
  useReloadOn((type, { inbox_id }) => inbox_id === inbox.id && type.startsWith("message."), loadUnlessInUse, {
    waitMs: newMailMs,
  });

  useListKeys({
    view,
    openId,
    current,
    total: rows.total,
    rowHeight,
    threads,
    selected,
    scroller,
    searchField,
    idAt: (index) => rows.at(index)?.threadId,
    setCurrent,
    setSelected,
  });

  function row(index: number) {
    const isCurrent = index === Math.max(0, current);
    const onFocus = () => setCurrent(index);
    if (view === "search") {
      const message = found.at(index);
      if (message === undefined) return <div class="thread-coming" />;
      return (
        <FoundRow
          message={message}
          hits={hits}
          namesInbox={isAll}
          isOpen={message.threadId === openId}
          isCurrent={isCurrent}
          onFocus={onFocus}
        />
      );
    }
    const thread = threads.at(index);
    if (thread === undefined) return <div class="thread-coming" />;
    return (
      <ThreadRow
        thread={thread}
        own={[inbox.address, ...inbox.aliases]}
        isOpen={thread.id === openId}
        isCurrent={isCurrent}
        isSelected={selected.has(thread.id)}
        onSelect={() => setSelected(toggled(selected, thread))}
        onFocus={onFocus}
      />
    );
  }

  const { total } = rows;
  return (
    <section class="threads" aria-label="Threads">
      <ListHead
        inbox={inbox}
        view={view}
        label={label}
        searchText={searchText}
        searchesAll={isAll}
        searchField={searchField}
      />
      {selected.size > 0 ? (
        <SelectedThreads inboxId={inbox.id} selected={selected} onClear={() => setSelected(new Map())} />
      ) : (
        <NewMailButton count={newCount} onPress={refresh} />
      )}
      {rows.error !== undefined && <Fault error={rows.error} onRetry={rows.reload} />}
      {note.of === name && <SearchedNote searched={note.searched} />}
      {total === 0 ? (
        <EmptyList inbox={inbox} view={view} searchText={searchText} searchesAll={isAll} />
      ) : (
        <VirtualList
          key={name}
          label={view === "search" ? "Messages found" : "Threads"}
          count={total ?? 0}
          rowHeight={rowHeight}
          current={current}
          onRange={rows.want}
          startTop={scrollTops.get(name) ?? 0}
          onScroll={(top) => {
            scrollTops.set(name, top);
            if (top === 0 && newCount > 0) loadUnlessInUse();
          }}
          onLeave={() => {
            if (newCount > 0) loadUnlessInUse();
          }}
          scroller={scroller}
          row={row}
        />
      )}
    </section>
  );
}

const nothing = Promise.resolve({ data: [], total: 0 });

async function asOfNow(loading: Promise<{ data: Schemas["Thread"][]; total: number }>) {
  const asOf = nextStep();
  const { data, total } = await loading;
  return { data: data.map((thread) => ({ ...thread, asOf })), total };
}

function currentView(): { view: View; label: string; search: string; isAll: boolean } {
  const { query } = route.value;
  const view = query.get("view");
  const label = query.get("label") ?? "";
  const search = query.get("q") ?? "";
  const isAll = view === "search" && query.get("in") === "all";
  return { view: label ? "label" : view === "search" || isTab(view) ? view : "inbox", label, search, isAll };
}

/** The parameters of the API for a view. */
function listOf(view: View, label: string) {
  if (view === "unread") return { is_read: false };
  if (view === "label") return { label };
  return view === "archive" || view === "trash" ? { folder: view } : {};
}

interface SelectedThreadsProps {
  inboxId: string;
  selected: Selected;
  onClear(): void;
}

function SelectedThreads({ inboxId, selected, onClear }: SelectedThreadsProps) {
  const threads = [...selected.values()];
  const markAll = (isRead: boolean) => {
    void mapAtMost(threads, ({ id, lastMessageId }) => mark(id, isRead, lastMessageId), 4).then(onClear);
  };
  return (
    <SelectionBar label="Selected threads" count={selected.size} onClear={onClear}>
      {may("mark") && (
        <>
          <button type="button" class="small" onClick={() => markAll(true)}>
            Mark read
          </button>
          <button type="button" class="small" onClick={() => markAll(false)}>
            Mark unread
          </button>
          <FilingButtons inboxId={inboxId} threads={threads} onFiled={onClear} />
        </>
      )}
    </SelectionBar>
  );
}

/** Shows new mail when it is pressed, so that rows do not move by themselves. */
function NewMailButton({ count, onPress }: { count: number; onPress: () => void }) {
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

interface EmptyListProps {
  inbox: Schemas["Inbox"];
  view: View;
  searchText: string;
  searchesAll: boolean;
}

function EmptyList({ inbox, view, searchText, searchesAll }: EmptyListProps) {
  if (view === "search") {
    return (
      <Empty icon="search" title={searchText === "" ? "Enter words to search for" : `No results for “${searchText}”`}>
        <p>
          Searches the subjects, texts, names and addresses in {searchesAll ? "all inboxes" : "this inbox"} for whole
          words. Also: <code>from:</code> <code>to:</code> <code>subject:</code> <code>has:attachment</code>{" "}
          <code>is:unread</code> <code>before:2026-03-21</code> <code>after:</code>
        </p>
      </Empty>
    );
  }
  if (view === "unread") {
    return (
      <Empty icon="done" title="No unread threads">
        <p>New mail appears here automatically.</p>
      </Empty>
    );
  }
  if (view !== "inbox") return <Empty icon="done" title="No threads here" />;
  const mail = `{"to": "${inbox.address}", "subject": "Hello", "body": "Is anybody there?"}`;
  const line = curl("POST", `v1/inboxes/${inbox.id}/send`, mail).replace(
    '-H "Content-Type',
    '-H "Idempotency-Key: hello-1" \\\n  -H "Content-Type',
  );
  return (
    <Empty icon="inboxes" title="No mail yet" command={line}>
      <p>Send a mail to this address, or run this command to send one from the inbox to itself. It appears at once.</p>
    </Empty>
  );
}
