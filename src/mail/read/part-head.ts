import { isDelimiter, type Nesting } from "./delimiters.ts";
import { endOfFields, isField, isParameters } from "./head-lines.ts";
import { type ContentFields, newPart, type Part, takeField } from "./part.ts";
import { endOfBlankLine, isBlank, isBlankText, isEmptyLine } from "./white-space.ts";

/** The header of a part, with the fields that describe its content. */
export interface PartHead {
  /** The part before it is described. Its body reaches to the end of the mail. */
  part: Part;
  fields: ContentFields;
  /** False if a field was cut. */
  whole: boolean;
  /** True if it has more lines than the limit. */
  endless: boolean;
}

/** Reading stops at this limit (contract §6), which only hostile mail reaches. */
const maxHeadLines = 250_000;

/** Reads the header that starts here. `ofMail` is true for that of the mail itself. */
export function readPartHead(nesting: Nesting, headStart: number, ofMail: boolean): PartHead {
  const { raw } = nesting;
  const fields: ContentFields = {};
  let whole = true;
  let headEnd = headStart;
  let fieldStart = headStart;
  let bodyStart = raw.length;
  let left = maxHeadLines;
  // A line that begins with white space continues the field before it. If it is blank, or no field is before it,
  // it does so only if another field follows.
  let doubtfulFrom = -1;
  let fieldsUntil = -1;

  function takeFieldBefore(end: number): void {
    if (!takeField(raw, fieldStart, end, fields)) whole = false;
  }

  for (; headEnd < raw.length && left > 0; left--) {
    const lineFeed = raw.indexOf(lf, headEnd);
    const next = lineFeed < 0 ? raw.length : lineFeed + 1;
    if (isEmptyLine(raw, headEnd, next)) {
      bodyStart = next;
      break;
    }
    if (isBlank(raw[headEnd])) {
      const isDoubtful = fieldStart === headEnd || isBlankText(raw, headEnd, next);
      if (isDoubtful && doubtfulFrom < 0) doubtfulFrom = headEnd;
    } else if (isDelimiter(nesting, headEnd)) {
      bodyStart = headEnd;
      break;
    } else if (isField(raw, headEnd)) {
      takeFieldBefore(headEnd);
      fieldStart = headEnd;
      doubtfulFrom = -1;
    } else if (!isParameters(raw, fieldStart, headEnd, next)) {
      // A line that cannot be a field begins the body. The body of the mail itself cannot begin before From.
      if (fieldsUntil < 0 && ofMail) fieldsUntil = endOfFields(raw, headStart, headEnd);
      if (headEnd >= fieldsUntil) {
        bodyStart = headEnd;
        break;
      }
      takeFieldBefore(headEnd);
      fieldStart = headEnd;
    }
    headEnd = next;
  }
  if (doubtfulFrom >= 0 && (bodyStart === headEnd || !isBlankText(raw, doubtfulFrom, headEnd))) {
    const blankEnd = endOfBlankLine(raw, doubtfulFrom);
    headEnd = doubtfulFrom;
    bodyStart = blankEnd < 0 ? doubtfulFrom : blankEnd;
  }
  takeFieldBefore(headEnd);
  return { part: newPart(headStart, headEnd, bodyStart, raw.length), fields, whole, endless: left === 0 };
}

const lf = 0x0a;
