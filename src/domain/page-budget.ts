/** The most octets of bodies in one page of a list or of the log. It is limited because a page is in memory more than once. */
export const pageBytes = 8 << 20;

/**
 * Bodies up to this size are read with their rows. A statement reads a hundred rows, so such bodies always fit into a page. Of a longer
 * body only the size is read first; the body is read later if the page has room for it.
 */
export const shortBodyBytes = 64 << 10;

/** The number of rows that fit into a page, by the sizes of their bodies. It is at least one, even if the first body is too large. */
export function rowsOfPage(sizes: readonly number[], mostBytes = pageBytes): number {
  let bytes = 0;
  const end = sizes.findIndex((size, index) => {
    bytes += size;
    return bytes > mostBytes && index > 0;
  });
  return end === -1 ? sizes.length : end;
}

/** The number of octets that the entry of an attachment in a response, with its URL, counts for. */
export const shownAttachmentBytes = 1 << 10;
