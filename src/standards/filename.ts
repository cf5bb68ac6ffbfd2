import { extensionOfType } from "./media-type.ts";
import { truncateUtf8, utf8Length } from "./text.ts";

/** What a mail says of one attachment's name. */
export interface NamedPart {
  filename: string | undefined;
  /** Lower-case `type/subtype`: gives a nameless part its extension. */
  contentType: string;
}

/**
 * The names under which the attachments of one mail are kept (contract §9), one for each part, in order: safe
 * as the last segment of a path or URL, never empty, and different from each other also where case doesn't count.
 */
export function storedNames(parts: readonly NamedPart[]): string[] {
  const taken = new Set<string>();
  const nextNumber = new Map<string, number>();
  let nameless = 0;
  return parts.map((part) => {
    const safe = part.filename === undefined ? "" : safeName(part.filename);
    const wanted = safe === "" ? `attachment-${++nameless}.${extensionOfType(part.contentType)}` : safe;
    let name = wanted;
    // The counter is kept between doubles: a thousand parts of one name would otherwise be a million look-ups.
    for (let number = nextNumber.get(key(wanted)) ?? 2; taken.has(key(name)); number++) {
      name = numbered(wanted, number);
      nextNumber.set(key(wanted), number + 1);
    }
    taken.add(key(name));
    return name;
  });
}

const longestNameBytes = 255;

/** The name without its folders and without what deceives the eye or a terminal; `""` where nothing is left. */
function safeName(filename: string): string {
  // A long name is folded at its spaces, and the tab of a fold is one of them.
  const visible = filename.toWellFormed().normalize("NFC").replace(blanks, " ").replace(controlsAndBidi, "");
  const segments = visible.split(/[/\\]/).map((segment) => segment.trim());
  const name = fitted(segments.findLast((segment) => segment !== "") ?? "", "");
  // `.`, `..` and their longer kin name folders, not files.
  return /^[.\s]*$/.test(name) ? "" : name;
}

const blanks = /[\t\n\v\f\r]+/g;

/** C0, DEL, C1, line separators, and the controls that turn the direction of text (Unicode UAX #9). */
const controlsAndBidi = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

function numbered(name: string, number: number): string {
  return fitted(name, `-${number}`);
}

/** The name with `suffix` before its extension, the stem cut so that the whole stays within the limit. */
function fitted(name: string, suffix: string): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && utf8Length(name.slice(dot)) <= 32 ? name.slice(dot) : "";
  const stem = extension === "" ? name : name.slice(0, dot);
  const room = longestNameBytes - utf8Length(suffix) - utf8Length(extension);
  return `${truncateUtf8(stem, room).trimEnd()}${suffix}${extension}`;
}

/** Names are compared as the file systems do that fold case, so that a download of all never overwrites one. */
function key(name: string): string {
  return name.toLowerCase().normalize("NFC");
}
