import { useEffect, useRef, useState } from "preact/hooks";
import { oneAtATime } from "./one-at-a-time.ts";

interface Page<Row> {
  data: Row[];
  total: number;
}

interface RowsOptions<Row> {
  /** Another list has another name. */
  name: string;
  ask(place: { offset: number; limit: number }): Promise<Page<Row>>;
  /** Whether the service lists it no more, though it is still shown: what lies behind it has moved up there. */
  hasLeft?(row: Row): boolean;
}

export interface Rows<Row> {
  /** Undefined until it is known. */
  total: number | undefined;
  error: unknown;
  at(index: number): Row | undefined;
  /** Asks for what is missing between two rows. */
  want(first: number, last: number): void;
  /** Asks anew, and shows what there is until the answer is there. An answer on its way is older than that, and is not the last. */
  reload(): void;
  change(isMeant: (row: Row) => boolean, changed: (row: Row) => Row): void;
}

export const rowsPerPage = 50;

interface Known<Row> {
  name: string;
  pages: Map<number, Row[]>;
  total: number | undefined;
  error: unknown;
}

/** A long list, of which pages are asked for as they come into sight. */
export function useRows<Row>({ name, ask, hasLeft = () => false }: RowsOptions<Row>): Rows<Row> {
  const [, draw] = useState(0);
  const known = useRef<Known<Row>>(nothingKnown(name));
  const asked = useRef(new Set<number>());
  const seen = useRef({ first: 0, last: 0 });

  async function fetchPage(number: number): Promise<void> {
    if (asked.current.has(number)) return;
    asked.current.add(number);
    const here = known.current;
    const leftBefore = [...here.pages].flatMap(([page, rows]) => (page < number ? rows.filter(hasLeft) : [])).length;
    try {
      const { data, total } = await ask({ offset: Math.max(0, number * rowsPerPage - leftBefore), limit: rowsPerPage });
      if (known.current !== here) return;
      const left = [...here.pages].flatMap(([page, rows]) => (page === number ? [] : rows.filter(hasLeft))).length;
      here.pages.set(number, data);
      here.total = total + left;
      here.error = undefined;
    } catch (error) {
      if (known.current !== here) return;
      asked.current.delete(number);
      here.error = error;
    }
    draw((round) => round + 1);
  }

  function want(first: number, last: number): void {
    seen.current = { first, last };
    for (let page = Math.floor(first / rowsPerPage); page * rowsPerPage <= last; page += 1) void fetchPage(page);
  }

  async function askAnew(): Promise<void> {
    const first = Math.floor(seen.current.first / rowsPerPage);
    const last = Math.floor(Math.max(0, seen.current.last) / rowsPerPage);
    const before = known.current;
    try {
      const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      const pages = await Promise.all(
        numbers.map((number) => ask({ offset: number * rowsPerPage, limit: rowsPerPage })),
      );
      if (known.current !== before) return;
      known.current = {
        ...nothingKnown<Row>(name),
        pages: new Map(pages.map(({ data }, index) => [first + index, data])),
        total: pages[0]?.total ?? 0,
      };
      asked.current = new Set(numbers);
      // Scrolled to meanwhile.
      want(seen.current.first, seen.current.last);
    } catch (error) {
      before.error = error;
    }
    draw((round) => round + 1);
  }
  const latest = useRef(askAnew);
  latest.current = askAnew;
  const [reload] = useState(() => oneAtATime(() => latest.current()));

  if (known.current.name !== name) {
    known.current = nothingKnown(name);
    asked.current = new Set();
  }
  useEffect(() => want(0, rowsPerPage - 1), [name]);

  return {
    total: known.current.total,
    error: known.current.error,
    at: (index) => known.current.pages.get(Math.floor(index / rowsPerPage))?.[index % rowsPerPage],
    want,
    reload,
    change(isMeant, changed) {
      for (const [number, rows] of known.current.pages) {
        known.current.pages.set(
          number,
          rows.map((row) => (isMeant(row) ? changed(row) : row)),
        );
      }
      draw((round) => round + 1);
    },
  };
}

function nothingKnown<Row>(name: string): Known<Row> {
  return { name, pages: new Map(), total: undefined, error: undefined };
}
