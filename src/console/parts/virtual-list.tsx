import type { ComponentChildren, Ref } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface VirtualListProps {
  label: string;
  count: number;
  rowHeight: number;
  /** The index of a row that stays in the document while scrolling, so that it keeps the focus. */
  current: number;
  /** Called with the rows that are in the document. */
  onRange(first: number, last: number): void;
  /** The scroll position at the start. */
  startTop: number;
  onScroll(top: number): void;
  /** Called when the pointer leaves the list. */
  onLeave?(): void;
  row(index: number): ComponentChildren;
  scroller: Ref<HTMLDivElement> & { current: HTMLDivElement | null };
}

/** How many rows above and below the visible ones are in the document too. */
const beyond = 5;

/** A long list, with only the visible rows in the document. */
export function VirtualList(props: VirtualListProps) {
  const { label, count, rowHeight, current, onRange, startTop, onScroll, onLeave, row, scroller } = props;
  const [top, setTop] = useState(startTop);
  const [height, setHeight] = useState(0);
  const kept = useRef(startTop);
  const leave = useRef(onLeave);
  leave.current = onLeave;

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      setHeight(element.clientHeight);
      // Restores the scroll position, which an element loses while it is hidden.
      if (element.clientHeight > 0 && element.scrollTop !== kept.current) element.scrollTop = kept.current;
    });
    observer.observe(element);
    element.addEventListener("mouseleave", () => leave.current?.());
    setHeight(element.clientHeight);
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(top / rowHeight) - beyond);
  const last = Math.min(count - 1, Math.ceil((top + height) / rowHeight) + beyond);
  useEffect(() => onRange(first, last), [first, last, count]);
  const shown = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  if (current >= 0 && current < count && (current < first || current > last)) shown.push(current);

  return (
    <div
      class="virtual"
      ref={scroller}
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget;
        if (clientHeight === 0) return;
        kept.current = scrollTop;
        setTop(scrollTop);
        onScroll(scrollTop);
      }}
    >
      <ul aria-label={label} style={{ height: `${count * rowHeight}px` }}>
        {shown.map((index) => (
          <li
            key={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
          >
            {row(index)}
          </li>
        ))}
      </ul>
    </div>
  );
}
