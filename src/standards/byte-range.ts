/** A range of bytes, with both ends included. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * The range that a `Range` field requests from a body of this size (RFC 9110 §14.2). `unsatisfiable` if the body has no such bytes.
 * `undefined` means the whole body, also for a malformed field, another unit and several ranges, which the RFC allows to ignore.
 */
export function parseRange(field: string | null, sizeBytes: number): ByteRange | "unsatisfiable" | undefined {
  const [, from = "", to = ""] = /^\s*bytes\s*=\s*(?:(\d{1,15})\s*)?-\s*(?:(\d{1,15})\s*)?$/i.exec(field ?? "") ?? [];
  if (from === "" && to === "") return undefined;
  if (from === "") {
    const suffix = Math.min(Number(to), sizeBytes);
    return suffix === 0 ? "unsatisfiable" : { first: sizeBytes - suffix, last: sizeBytes - 1 };
  }
  const first = Number(from);
  const last = to === "" ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  if (to !== "" && Number(to) < first) return undefined;
  return first >= sizeBytes ? "unsatisfiable" : { first, last };
}

/** True if an `If-None-Match` field names this entity tag, by weak comparison (RFC 9110 §13.1.2). */
export function matchesEntityTag(field: string | null, entityTag: string): boolean {
  if (field === null) return false;
  const tags = field.match(/\*|(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => tag === "*" || tag.replace(/^W\//, "") === entityTag);
}
