import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { go, href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { useKeys } from "../frame/keyboard.ts";
import type { Rows } from "../parts/rows.ts";
import { may } from "../session.ts";
import type { View } from "./list-head.tsx";
import { type AsOf, isReadNow, mark } from "./marking.ts";

interface ListKeys {
  view: View;
  /** The thread that is open beside the list: its own keys come first. */
  openId: string | undefined;
  /** -1: none yet. */
  current: number;
  total: number | undefined;
  rowHeight: number;
  threads: Rows<AsOf<Schemas["Thread"]>>;
  selected: Selected;
  scroller: RefObject<HTMLDivElement | null>;
  search: RefObject<HTMLInputElement | null>;
  idAt(index: number): string | undefined;
  setCurrent(index: number): void;
  setSelected(selected: Selected): void;
}

/** What single letters do in a list. */
export function useListKeys(list: ListKeys): void {
  const { view, openId, current, total = 1, idAt, selected, setSelected, scroller, search, threads } = list;
  /** The focus follows as soon as the row is drawn, not when there is time for it: the next key may come at once. */
  const isMoved = useRef(false);

  function moveTo(index: number) {
    const next = Math.max(0, Math.min(total - 1, index));
    isMoved.current = true;
    list.setCurrent(next);
    showRow(scroller.current, next, list.rowHeight);
  }
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

  const ofListAlone = { Enter: open, x: select, m: toggleRead, u: () => go(href("inboxes")) };
  useKeys({
    j: () => moveTo(current + 1),
    k: () => moveTo(current - 1),
    "/": () => search.current?.focus(),
    ...(openId === undefined && ofListAlone),
    ...(selected.size > 0 && { Escape: () => setSelected(new Map()) }),
  });
}

/** The threads that are selected, each with the message that was its last one then: what came later was not seen. */
export type Selected = ReadonlyMap<string, string>;

export function toggled(selected: Selected, { id, lastMessageId }: Schemas["Thread"]): Selected {
  const next = new Map(selected);
  if (!next.delete(id)) next.set(id, lastMessageId);
  return next;
}

/** Scrolls as little as brings the row into sight. */
function showRow(element: HTMLElement | null, index: number, rowHeight: number): void {
  if (element === null) return;
  const top = index * rowHeight;
  if (top < element.scrollTop) element.scrollTop = top;
  const bottom = top + rowHeight - element.clientHeight;
  if (bottom > element.scrollTop) element.scrollTop = bottom;
}
