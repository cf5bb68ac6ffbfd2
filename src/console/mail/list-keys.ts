import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { go, href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { useKeys } from "../frame/keyboard.ts";
import type { Rows } from "../parts/rows.ts";
import { may } from "../session.ts";
import { file, type Shown } from "./filing.ts";
import type { View } from "./list-head.tsx";
import { type AsOf, isReadNow, mark } from "./marking.ts";

interface ListKeys {
  view: View;
  /** The thread that is open beside the list. Its shortcuts replace some shortcuts of the list. */
  openId: string | undefined;
  /** The index of the row with the keyboard focus; -1 for none. */
  current: number;
  total: number | undefined;
  rowHeight: number;
  threads: Rows<AsOf<Schemas["Thread"]>>;
  selected: Selected;
  scroller: RefObject<HTMLDivElement | null>;
  searchField: RefObject<HTMLInputElement | null>;
  idAt(index: number): string | undefined;
  setCurrent(index: number): void;
  setSelected(selected: Selected): void;
}

/** Sets the keyboard shortcuts of a list of threads or found messages. */
export function useListKeys(list: ListKeys): void {
  const { view, openId, current, total = 1, idAt, selected, setSelected, scroller, searchField, threads } = list;
  /** Whether the focus must move with the next rendering. */
  const isMoved = useRef(false);

  function moveTo(index: number) {
    const next = Math.max(0, Math.min(total - 1, index));
    isMoved.current = true;
    list.setCurrent(next);
    showRow(scroller.current, next, list.rowHeight);
  }
  // A layout effect, because `useEffect` might run only after the next key press.
  useLayoutEffect(() => {
    if (!isMoved.current) return;
    isMoved.current = false;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-thread="${CSS.escape(idAt(current) ?? "")}"]`);
    row?.focus({ preventScroll: true });
  });
  const chosen = Math.max(0, current);
  function open() {
    const id = idAt(chosen);
    if (id !== undefined) go(href(`threads/${id}`));
  }
  function select() {
    const thread = threads.at(chosen);
    if (view !== "search" && thread !== undefined) setSelected(toggled(selected, thread));
  }
  function toggleRead() {
    const thread = threads.at(chosen);
    if (view === "search" || thread === undefined || !may("mark")) return;
    void mark(thread.id, !isReadNow(thread), thread.lastMessageId);
  }

  function archive() {
    const thread = threads.at(chosen);
    if (view !== "search" && thread !== undefined && may("mark")) void file(thread.inboxId, [thread], "archive");
  }

  const withoutOpenThread = { e: archive, Enter: open, x: select, m: toggleRead, u: () => go(href("inboxes")) };
  useKeys({
    j: () => moveTo(current + 1),
    k: () => moveTo(current - 1),
    "/": () => searchField.current?.focus(),
    ...(openId === undefined && withoutOpenThread),
    ...(selected.size > 0 && { Escape: () => setSelected(new Map()) }),
  });
}

/** The selected threads by id, as they were when they were selected, because the user has not seen later messages. */
export type Selected = ReadonlyMap<string, Shown>;

export function toggled(selected: Selected, thread: Shown): Selected {
  const next = new Map(selected);
  if (!next.delete(thread.id)) next.set(thread.id, thread);
  return next;
}

/** Scrolls the row into view, as little as possible. */
function showRow(element: HTMLElement | null, index: number, rowHeight: number): void {
  if (element === null) return;
  const top = index * rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  const bottom = top + rowHeight - element.clientHeight;
  if (bottom > element.scrollTop) element.scrollTop = bottom;
}
