import { useEffect, useRef, useState } from "preact/hooks";
import { oneAtATime } from "./loaded.ts";

interface Page<Row> {
  data: Row[];
  total: number;
}

interface RowsOptions<Row> {
  /** Identifies the list. If it changes, all rows are loaded anew. */
  name: string;
  load(range: { offset: number; limit: number }): Promise<Page<Row>>;
  /** Whether a shown row is no longer in the service's list, so that the rows after it have moved up there. */
  hasLeft?(row: Row): boolean;
}

export interface Rows<Row> {
  /** Undefined until it is loaded. */
  total: number | undefined;
  error: unknown;
  at(index: number): Row | undefined;
  /** Loads the missing pages between two rows. */
  want(first: number, last: number): void;
  /**
   * Loads again. The current rows stay until the new ones are loaded. If a request is in progress, another one follows
   * it.
   */
  reload(): void;
}

const rowsPerPage = 50;

interface Known<Row> {
  name: string;
  pages: Map<number, Row[]>;
  total: number | undefined;
  error: unknown;
}

/** A long list whose pages are loaded as they scroll into view. */
export function useRows<Row>({ name, load, hasLeft = () => false }: RowsOptions<Row>): Rows<Row> {
  const [, draw] = useState(0);
  const known = useRef<Known<Row>>(nothingKnown(name));
  const requested = useRef(new Set<number>());
  const seen = useRef({ first: 0, last: 0 });

  async function fetchPage(number: number): Promise<void> {
    if (requested.current.has(number)) return;
    requested.current.add(number);
    const here = known.current;
    const leftBefore = [...here.pages].flatMap(([page, rows]) => (page < number ? rows.filter(hasLeft) : [])).length;
    try {
      const offset = Math.max(0, number * rowsPerPage - leftBefore);
      const { data, total } = await load({ offset, limit: rowsPerPage });
      if (known.current !== here) return;
      const left = [...here.pages].flatMap(([page, rows]) => (page === number ? [] : rows.filter(hasLeft))).length;
      here.pages.set(number, data);
      here.total = total + left;
      here.error = undefined;
    } catch (error) {
      if (known.current !== here) return;
      requested.current.delete(number);
      here.error = error;
    }
    draw((round) => round + 1);
  }

  function want(first: number, last: number): void {
    seen.current = { first, last };
    for (let page = Math.floor(first / rowsPerPage); page * rowsPerPage <= last; page += 1) void fetchPage(page);
  }

  async function loadAgain(): Promise<void> {
    const first = Math.floor(seen.current.first / rowsPerPage);
    const last = Math.floor(Math.max(0, seen.current.last) / rowsPerPage);
    const before = known.current;
    try {
      const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      const pages = await Promise.all(
        numbers.map((number) => load({ offset: number * rowsPerPage, limit: rowsPerPage })),
      );
      if (known.current !== before) return;
      known.current = {
        ...nothingKnown<Row>(name),
        pages: new Map(pages.map(({ data }, index) => [first + index, data])),
        total: pages[0]?.total ?? 0,
      };
      requested.current = new Set(numbers);
      // Loads further pages if the list was scrolled meanwhile.
      want(seen.current.first, seen.current.last);
    } catch (error) {
      before.error = error;
    }
    draw((round) => round + 1);
  }
  const latest = useRef(loadAgain);
  latest.current = loadAgain;
  const [reload] = useState(() => oneAtATime(() => latest.current()));

  if (known.current.name !== name) {
    known.current = nothingKnown(name);
    requested.current = new Set();
  }
  useEffect(() => want(0, rowsPerPage - 1), [name]);

  return {
    total: known.current.total,
    error: known.current.error,
    at: (index) => known.current.pages.get(Math.floor(index / rowsPerPage))?.[index % rowsPerPage],
    want,
    reload,
  };
}

function nothingKnown<Row>(name: string): Known<Row> {
  return { name, pages: new Map(), total: undefined, error: undefined };
}
