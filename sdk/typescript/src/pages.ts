/** A list that the service sends in pages. Iterating over it gives all items. */
export interface List<Item, Page> extends AsyncIterable<Item> {
  pages(): AsyncIterable<Page>;
  /** The first page, with the fields beside its items, such as `total`. */
  page(): Promise<Page>;
}

export interface PagePosition {
  offset?: number | undefined;
  cursor?: string | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

/** Fetches the page at a position. */
export type FetchPage<Page> = (position: PagePosition) => Promise<Page>;

interface Identified {
  id: string;
}

/** A list that is paged by a cursor, which neither skips nor repeats a row. */
export function listByCursor<Item, Page extends { data: Item[]; nextCursor: string | null }>(
  fetchPage: FetchPage<Page>,
): List<Item, Page> {
  return listByNext(fetchPage, ({ nextCursor }) =>
    // The service refuses an offset beside a cursor.
    nextCursor === null ? undefined : { cursor: nextCursor, offset: undefined },
  );
}

/**
 * A list of the events of the log. Each page begins after the last event that the service examined for the page before. With `order:
 * "desc"`, each page has the events before that one.
 */
export function listByPosition<
  Item extends { event_id: string },
  Page extends { data: Item[]; hasMore: boolean; last?: string | null },
>(fetchPage: FetchPage<Page>, { order }: { order?: "asc" | "desc" | undefined } = {}): List<Item, Page> {
  return listByNext(fetchPage, ({ data, hasMore, last }) => {
    const position = last ?? data.at(-1)?.event_id;
    if (!hasMore || position === undefined) return undefined;
    return order === "desc" ? { before: position } : { after: position };
  });
}

/** A list whose pages say where the next one begins. */
function listByNext<Item, Page extends { data: Item[] }>(
  fetchPage: FetchPage<Page>,
  positionAfter: (page: Page) => PagePosition | undefined,
): List<Item, Page> {
  return listed(fetchPage, async function* () {
    for (let position: PagePosition | undefined = {}; position !== undefined; ) {
      const page = await fetchPage(position);
      yield page;
      position = positionAfter(page);
    }
  });
}

/**
 * A list that is paged by an offset. Rows may leave the list while it is read, such as deleted inboxes, and later rows then move up. So the next page begins earlier by the number of rows that the list has lost, and skips the rows that were seen.
 */
export function listByOffset<Item extends Identified, Page extends { data: Item[]; total: number }>(
  fetchPage: FetchPage<Page>,
  { offset: first = 0 }: PagePosition = {},
): List<Item, Page> {
  return listed(fetchPage, async function* () {
    const seen = new Set<string>();
    let total = 0;
    for (let offset = first; ; ) {
      const page = await fetchPage({ offset });
      const lost = total - page.total;
      total = page.total;
      if (lost > 0 && offset > first) {
        offset = Math.max(first, offset - lost);
        continue;
      }
      const data = page.data.filter(({ id }) => !seen.has(id));
      for (const { id } of data) seen.add(id);
      yield { ...page, data };
      offset += page.data.length;
      if (page.data.length === 0 || offset >= page.total) return;
    }
  });
}

function listed<Item, Page extends { data: Item[] }>(
  fetchPage: FetchPage<Page>,
  pages: () => AsyncGenerator<Page>,
): List<Item, Page> {
  return {
    pages,
    page: () => fetchPage({}),
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) yield* data;
    },
  };
}
