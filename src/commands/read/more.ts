import { tell } from "../terminal.ts";
import type { Page } from "./shapes.ts";

/** That a list was not all, and how it goes on. On stderr, so that stdout has the list alone. */
export function tellMoreBy(option: string): void {
  tell(`There is more: ${option}\n`, process.stderr);
}

/** The same of a list that is paged by numbers. */
export function tellMore({ data, total }: Page<unknown>, offset: string): void {
  const next = Number(offset) + data.length;
  if (data.length > 0 && next < total) tellMoreBy(`--offset ${next}`);
}
