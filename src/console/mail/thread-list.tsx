import { useEffect, useRef, useState } from "preact/hooks";
import { go, href, place } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { useKeys } from "../frame/keyboard.ts";
import { useEvents } from "../live.ts";
import { Fault } from "../parts/fault.tsx";
import { useTitle } from "../parts/page.tsx";
import { type Rows, useRows } from "../parts/rows.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import { FoundRow } from "./found-row.tsx";
import { ListEmpty } from "./list-empty.tsx";
import { ListHead, type View } from "./list-head.tsx";
import { forgetMarks, isReadNow, mark } from "./marking.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { ThreadRow } from "./thread-row.tsx";

const rowHeight = 68;

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
  const threads = useRows<Schemas["Thread"]>({
    name,
    ask: (page) =>
      view === "search"
        ? nothing
        : inboxd.threads.list(inbox.id, { ...page, ...(view === "unread" && { is_read: false }) }).page(),
    hasLeft: (thread) => view === "unread" && isReadNow(thread),
  });
  const found = useRows<Schemas["ListedMessage"]>({
    name,
    ask: (page) =>
      view === "search" && words !== "" ? inboxd.messages.list(inbox.id, { ...page, q: words }).page() : nothing,
  });
  const rows: Rows<Schemas["Thread"] | Schemas["ListedMessage"]> = view === "search" ? found : threads;
  const [current, setCurrent] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [fresh, setFresh] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const search = useRef<HTMLInputElement>(null);
  useTitle(inbox.address);
  useEffect(() => {
    setCurrent(0);
    setSelected(new Set());
    setFresh(0);
  }, [name]);

  function refresh() {
    setFresh(0);
    forgetMarks();
    rows.reload();
  }

  useEvents(({ event, inbox_id }) => {
    if (inbox_id !== inbox.id || view === "search") return;
    if (event === "message.received") setFresh((count) => count + 1);
    const element = scroller.current;
    const isUnderHand = element !== null && (element.scrollTop > 0 || element.matches(":hover"));
    // Nothing moves that one is about to press; in the unread view nothing leaves by itself.
    if (isUnderHand || view === "unread") return;
    if (event.startsWith("message.")) rows.reload();
  });

  const idAt = (index: number) => {
    const row = rows.at(index);
    return row && "threadId" in row ? row.threadId : undefined;
  };
  function moveTo(index: number) {
    const next = Math.max(0, Math.min((rows.total ?? 1) - 1, index));
    setCurrent(next);
    showRow(scroller.current, next);
    requestAnimationFrame(() => {
      const id = idAt(next);
      scroller.current
        ?.querySelector<HTMLElement>(`[data-thread="${CSS.escape(id ?? "")}"]`)
        ?.focus({ preventScroll: true });
    });
  }
  function toggle(id: string | undefined) {
    if (id === undefined) return;
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  }
  function toggleRead() {
    const thread = threads.at(current);
    if (view !== "search" && thread !== undefined) void mark(thread.id, !isReadNow(thread), thread.lastMessageId);
  }
  const isFocused = () => scroller.current?.contains(document.activeElement) === true;
  useKeys({
    j: () => moveTo(isFocused() ? current + 1 : current),
    k: () => moveTo(current - 1),
    "/": () => search.current?.focus(),
    ...(openId === undefined && {
      Enter: () => {
        const id = idAt(current);
        if (id !== undefined) go(href(`threads/${id}`));
      },
      x: () => view !== "search" && toggle(idAt(current)),
      m: toggleRead,
      u: () => go(href("inboxes")),
    }),
    ...(selected.size > 0 && { Escape: () => setSelected(new Set()) }),
  });

  const total = rows.total;
  return (
    <section class="threads" aria-label="Threads">
      <ListHead inbox={inbox} view={view} words={words} search={search} />
      {selected.size > 0 ? (
        <SelectionBar ids={[...selected]} onDone={() => setSelected(new Set())} />
      ) : (
        <div class="fresh" role="status">
          {fresh > 0 && (
            <button
              type="button"
              class="fresh-pill"
              onClick={() => {
                if (scroller.current !== null) scroller.current.scrollTop = 0;
                refresh();
              }}
            >
              {fresh} new
            </button>
          )}
        </div>
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
          row={(index) => {
            const common = { isCurrent: index === current, onFocus: () => setCurrent(index) };
            const message = view === "search" ? found.at(index) : undefined;
            if (message) return <FoundRow {...common} message={message} isOpen={message.threadId === openId} />;
            const thread = view === "search" ? undefined : threads.at(index);
            if (thread === undefined) return <div class="thread-coming" />;
            return (
              <ThreadRow
                {...common}
                thread={thread}
                own={inbox.address}
                isOpen={thread.id === openId}
                isSelected={selected.has(thread.id)}
                onSelect={() => toggle(thread.id)}
              />
            );
          }}
        />
      )}
    </section>
  );
}

const nothing = Promise.resolve({ data: [], total: 0 });

function viewHere(): { view: View; words: string } {
  const { query } = place.value;
  const asked = query.get("view");
  const words = query.get("q") ?? "";
  return { view: asked === "unread" || asked === "search" ? asked : "all", words };
}

/** Scrolls as little as brings the row into sight. */
function showRow(element: HTMLElement | null, index: number): void {
  if (element === null) return;
  const top = index * rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  const bottom = top + rowHeight - element.clientHeight;
  if (bottom > element.scrollTop) element.scrollTop = bottom;
}
