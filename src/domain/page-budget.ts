/** So many octets of bodies one page of a list, or of the log, has: it lies in memory, more than once. */
export const pageBytes = 8 << 20;

/**
 * Bodies up to this size come with their row, of which a statement gives a hundred: all of them are less than a page may have. A longer
 * one is told by its size, and read when it is known that there is room for it.
 */
export const shortBodyBytes = 64 << 10;

/** How many of these rows, told by the octets of their bodies, are a page. The first always is. */
export function rowsOfPage(sizes: readonly number[], mostBytes = pageBytes): number {
  let bytes = 0;
  const end = sizes.findIndex((size, index) => {
    bytes += size;
    return bytes > mostBytes && index > 0;
  });
  return end === -1 ? sizes.length : end;
}

/** What an attachment takes where it is shown, with its address. */
export const shownAttachmentBytes = 1 << 10;
