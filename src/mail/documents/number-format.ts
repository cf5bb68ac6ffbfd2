import { readXml } from "./xml.ts";

/** The form in which a sheet shows a number, as far as it matters for reading. `nothing`: it shows nothing. */
export type NumberFormat = "general" | "percent" | "date" | "time" | "date_time" | "nothing";

/** The formats of the styles of a workbook, in order (ECMA-376-1 §18.8). */
export function numberFormats(bytes: Buffer | undefined): NumberFormat[] {
  const codes = new Map<number, string>();
  const formats: NumberFormat[] = [];
  let isOfCells = false;
  if (bytes === undefined) return formats;
  readXml(bytes, {
    open(name, attribute) {
      if (name === "numFmt") codes.set(Number(attribute("numFmtId")), attribute("formatCode") ?? "");
      else if (name === "cellXfs") isOfCells = true;
      else if (name === "xf" && isOfCells) {
        const id = Number(attribute("numFmtId"));
        const code = codes.get(id);
        formats.push(code === undefined ? builtIn(id) : formatOf(code));
      }
    },
    close(name) {
      if (name === "cellXfs") isOfCells = false;
    },
  });
  return formats;
}

/** The formats that have a number and no code (ECMA-376-1 §18.8.30). */
function builtIn(id: number): NumberFormat {
  if (id === 9 || id === 10) return "percent";
  if (id >= 14 && id <= 17) return "date";
  if (id === 22) return "date_time";
  return (id >= 18 && id <= 21) || (id >= 45 && id <= 47) ? "time" : "general";
}

function formatOf(code: string): NumberFormat {
  if (/^;;;?$/.test(code)) return "nothing";
  const bare = code
    .slice(0, 200)
    .toLowerCase()
    .replaceAll(/"[^"]{0,200}"|\\.|\[[^[\]]{0,50}\]|_.|\*./g, "");
  if (bare.includes("%")) return "percent";
  if (/general|[0#?]/.test(bare.replaceAll(/s\.0+/g, "s"))) return "general";
  const hasDate = /[dy]/.test(bare);
  const hasTime = /[hs]/.test(bare);
  if (hasDate) return hasTime ? "date_time" : "date";
  return hasTime ? "time" : "general";
}

/** A number as text: dates as ISO 8601 without a zone, percents with their sign, others as they are stored. */
export function shownNumber(value: string, format: NumberFormat, isFrom1904 = false): string {
  const number = Number(value);
  if (value.trim() === "" || !Number.isFinite(number)) return value;
  if (format === "percent") return `${rounded(number * 100)}%`;
  if (format === "general" || format === "nothing") return rounded(number);
  const days = number + (isFrom1904 ? daysTo1904 : 0);
  // Excel has no dates before 1900, nor after 9999.
  if (days < 0 || days >= 2_958_466) return value;
  const instant = new Date(Math.round((days - daysToUnix) * daySeconds) * 1000).toISOString();
  const time = instant.slice(11, 19);
  if (format === "time") return time;
  return format === "date" && time === "00:00:00" ? instant.slice(0, 10) : `${instant.slice(0, 10)} ${time}`;
}

const daySeconds = 86_400;
/** The days from day 0 of a workbook to 1970. Day 60 is 29 February 1900, which did not exist, so earlier days are one off. */
const daysToUnix = 25_569;
const daysTo1904 = 1462;

/** Without the last digits of a double, which binary fractions leave: 0.1 + 0.2 is stored as 0.30000000000000004. */
function rounded(number: number): string {
  return String(Number(number.toPrecision(15)));
}
