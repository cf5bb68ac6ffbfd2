import { parseInstant } from "../../standards/instant.ts";
import { cleanText } from "../../standards/text.ts";

/** The value at a path in untrusted JSON, or undefined if there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** Longer texts are cut. Names, addresses and server replies are shorter. */
const longestText = 4096;

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  if (typeof found !== "string") return undefined;
  return cleanText(found.slice(0, longestText)).trim() || undefined;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The instant at a path, which is written as text or as seconds since 1970. */
export function instantAt(value: unknown, ...path: readonly string[]): Date | undefined {
  const found = at(value, ...path);
  if (typeof found === "string") return parseInstant(found);
  if (typeof found !== "number") return undefined;
  const instant = new Date(found * 1000);
  return Number.isNaN(instant.getTime()) ? undefined : instant;
}

/** The code of an SMTP reply at a path. Numbers outside of 200 to 599 are codes of the relay itself, and ignored. */
export function codeAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = Number(at(value, ...path) ?? Number.NaN);
  return Number.isInteger(found) && found >= 200 && found < 600 ? found : undefined;
}

/** The text in a list with one entry. Undefined for several entries, since it is unknown which one is meant. */
export function onlyText(list: readonly unknown[]): string | undefined {
  return list.length === 1 ? textAt(list[0]) : undefined;
}
