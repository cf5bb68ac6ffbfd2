/** The limit on octets of bodies in one page of a list or of the log. A page is in memory more than once. */
export const pageBytes = 8 << 20;

/**
 * Bodies up to this size are read with their rows. A statement reads a hundred rows, so they fit into a page. For a longer body only the
 * size is read at first, and the body later if the page has room for it.
 */
export const shortBodyBytes = 64 << 10;

/** The number of rows that fit into a page, from the sizes of their bodies; at least one. */
export function rowsOfPage(sizes: readonly number[], mostBytes = pageBytes): number {
  let bytes = 0;
  const end = sizes.findIndex((size, index) => {
    bytes += size;
    return bytes > mostBytes && index > 0;
  });
  return end === -1 ? sizes.length : end;
}

/** The octets that are reserved for an attachment's entry in a response, with its URL. */
export const shownAttachmentBytes = 1 << 10;
