import { withLineFeeds } from "../../standards/text.ts";
import { decodeText } from "../read/charset.ts";
import type { TextSheet } from "./text-sheet.ts";

/** Reads a calendar (RFC 5545): for each event, task and alarm its fields that a person reads, in their order. */
export function readIcs(bytes: Buffer, sheet: TextSheet): void {
  let skippedUntil: string | undefined;
  for (const line of unfolded(decodeText(bytes)).split("\n")) {
    const { name, parameters, value } = propertyOf(line);
    if (skippedUntil !== undefined) {
      if (name === "END" && value.toUpperCase() === skippedUntil) skippedUntil = undefined;
    } else if (name === "BEGIN") {
      const component = value.toUpperCase();
      if (component === "VTIMEZONE") skippedUntil = component;
      else if (component !== "VCALENDAR") {
        sheet.endBlock();
        sheet.add(component);
        sheet.endLine();
      }
    } else if (shown.has(name)) {
      sheet.add(`${name}: ${described(name, parameters, value)}`);
      sheet.endLine();
    }
  }
}

/** Joins the lines of folded fields (RFC 5545 §3.1). */
function unfolded(text: string): string {
  return withLineFeeds(text).replaceAll(/\n[ \t]/g, "");
}

interface Property {
  name: string;
  parameters: string;
  value: string;
}

/** Splits a line at the first colon outside of quotes. */
function propertyOf(line: string): Property {
  let colon = 0;
  for (let isQuoted = false; colon < line.length && (isQuoted || line[colon] !== ":"); colon++) {
    if (line[colon] === '"') isQuoted = !isQuoted;
  }
  const head = line.slice(0, colon);
  const semicolon = head.indexOf(";");
  const name = semicolon < 0 ? head : head.slice(0, semicolon);
  return {
    name: name.trim().toUpperCase(),
    parameters: semicolon < 0 ? "" : head.slice(semicolon),
    value: line.slice(colon + 1),
  };
}

const shown: ReadonlySet<string> = new Set(
  "METHOD SUMMARY DTSTART DTEND DUE DURATION RRULE RDATE EXDATE RECURRENCE-ID LOCATION ORGANIZER ATTENDEE STATUS CATEGORIES DESCRIPTION COMMENT CONTACT RESOURCES URL TRIGGER FREEBUSY COMPLETED PERCENT-COMPLETE PRIORITY X-WR-CALNAME X-WR-CALDESC NAME".split(
    " ",
  ),
);

function described(name: string, parameters: string, value: string): string {
  if (name === "ORGANIZER" || name === "ATTENDEE") {
    const address = value.replace(/^mailto:/i, "");
    const commonName = parameterIn(parameters, "CN");
    const state = parameterIn(parameters, "PARTSTAT");
    return `${commonName === undefined ? address : `${commonName} <${address}>`}${state === undefined ? "" : ` (${state})`}`;
  }
  const zone = parameterIn(parameters, "TZID");
  return zone === undefined ? unescaped(value) : `${unescaped(value)} (${zone})`;
}

function parameterIn(parameters: string, name: string): string | undefined {
  for (const [, key = "", quoted, bare] of parameters.matchAll(/;([A-Za-z0-9-]{1,50})=(?:"([^"]*)"|([^;]*))/g)) {
    if (key.toUpperCase() === name) return quoted ?? bare;
  }
  return undefined;
}

/** Decodes the escapes of a text (RFC 5545 §3.3.11). */
function unescaped(value: string): string {
  return value.replace(/\\([\\;,nN])/g, (_, character) => (character.toLowerCase() === "n" ? "\n" : character));
}
