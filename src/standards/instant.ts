/**
 * Parses an RFC 3339 date-time with its offset, or a day, which means its first moment in UTC. `undefined` for anything else, also for the
 * 30th of February and for years outside 1900 to 2199. A space counts as `+`, because an unescaped `+` in a query is decoded to a space.
 */
export function parseInstant(text: string): Date | undefined {
  const [, date = "", time, offset] = shape.exec(text) ?? [];
  const midnight = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== date) return undefined;
  if (time === undefined || offset === undefined) return midnight;
  const at = new Date(`${date}T${time}${offset.replace(" ", "+").toUpperCase()}`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** The latest instant in UTC that `parseInstant` accepts. */
export const latestInstant = new Date("2199-12-31T23:59:59.999Z");

/** The accepted years, for error messages. */
export const yearsOfInstants = "the years 1900 to 2199";

const shape =
  /^((?:19|20|21)\d\d-\d\d-\d\d)(?:[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?)([Zz]|[+ -](?:[01]\d|2[0-3]):[0-5]\d))?$/;
