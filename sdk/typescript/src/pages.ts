/** A list that comes in pages: all of its items one by one, its pages, or one page. */
export interface List<Item, Page> extends AsyncIterable<Item> {
  pages(): AsyncIterable<Page>;
  /** The first page, with what it says beside its items, such as `total`. */
  page(): Promise<Page>;
}

export interface ListPlace {
  offset?: number | undefined;
  cursor?: string | undefined;
  after?: string | undefined;
}

/** Asks for a page, with what moves on in place of what was asked at first. */
export type AskPage<Page> = (place: ListPlace) => Promise<Page>;

interface Identified {
  id: string;
}

/** By a cursor, which neither skips nor repeats a row. */
export function listByCursor<Item, Page extends { data: Item[]; nextCursor: string | null }>(
  ask: AskPage<Page>,
): List<Item, Page> {
  return listed(ask, async function* () {
    let page = await ask({});
    yield page;
    while (page.nextCursor !== null) {
      // The cursor says where it was: an offset beside it is refused.
      page = await ask({ cursor: page.nextCursor, offset: undefined });
      yield page;
    }
  });
}

/**
 * By counting. Rows that leave the list while it is read, as unread threads do that are marked, move up those behind: as many rows as
 * it has lost the reader goes back, and passes over what he has seen.
 */
export function listByOffset<Item extends Identified, Page extends { data: Item[]; total: number }>(
  ask: AskPage<Page>,
  { offset: first = 0 }: ListPlace = {},
): List<Item, Page> {
  return listed(ask, async function* () {
    const seen = new Set<string>();
    let total = 0;
    for (let offset = first; ; ) {
      const page = await ask({ offset });
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

/** The log, behind the last event that was looked at. */
export function listByPlace<
  Item extends { event_id: string },
  Page extends { data: Item[]; hasMore: boolean; last?: string | null },
>(ask: AskPage<Page>): List<Item, Page> {
  return listed(ask, async function* () {
    let page = await ask({});
    yield page;
    while (page.hasMore) {
      const after = page.last ?? page.data.at(-1)?.event_id;
      if (after === undefined) return;
      page = await ask({ after });
      yield page;
    }
  });
}

function listed<Item, Page extends { data: Item[] }>(
  ask: AskPage<Page>,
  pages: () => AsyncGenerator<Page>,
): List<Item, Page> {
  return {
    pages,
    page: () => ask({}),
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) yield* data;
    },
  };
}
