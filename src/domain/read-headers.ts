import type { Fault } from "./errors.ts";
import type { CustomHeader } from "./message.ts";

export interface ReadHeaders {
  headers: readonly CustomHeader[];
  faults: readonly Fault[];
}

const noHeaders: ReadHeaders = { headers: [], faults: [] };

/**
 * Reads the object `headers` of a request, and finds its faults: too many names, the same name twice, and those that `faultOf` finds in a
 * header, which has its name in lower case as `key`.
 */
export function readHeaders(
  asked: Readonly<Record<string, string>> | undefined,
  maxHeaders: number,
  faultOf: (header: CustomHeader & { key: string }) => string | undefined,
): ReadHeaders {
  if (asked === undefined) return noHeaders;
  const all = Object.entries(asked);
  const headers = all.slice(0, maxHeaders).map(([name, value]) => ({ name, value }));
  const faults: Fault[] = [];
  if (all.length > maxHeaders) faults.push({ pointer: "#/headers", detail: `must have at most ${maxHeaders} names` });
  const seen = new Set<string>();
  for (const header of headers) {
    const key = header.name.toLowerCase();
    const isDouble = seen.has(key) ? "must be given only once; upper and lower case are the same" : undefined;
    const wrong = faultOf({ ...header, key }) ?? isDouble;
    if (wrong !== undefined) faults.push({ pointer: `#/headers/${pointerToken(header.name)}`, detail: wrong });
    seen.add(key);
  }
  return { headers, faults };
}

/** A name as a part of a JSON pointer in a URI fragment (RFC 6901 §3 and §6). */
function pointerToken(name: string): string {
  return encodeURIComponent(name.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1"));
}
