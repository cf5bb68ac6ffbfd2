import { extensionOfType } from "./media-type.ts";
import { truncateUtf8, utf8Length } from "./text.ts";

/** The file name and the media type of an attachment in a mail. */
export interface NamedPart {
  filename: string | undefined;
  /** The `type/subtype` in lower case, which gives a nameless part its extension. */
  contentType: string;
}

/**
 * The stored names of a mail's attachments (contract §9), in order. Each is safe as the last segment of a path or URL, not empty, and unique
 * even if case is ignored.
 */
export function storedNames(parts: readonly NamedPart[]): string[] {
  const taken = new Set<string>();
  const nextNumber = new Map<string, number>();
  let nameless = 0;
  return parts.map((part) => {
    const safe = part.filename === undefined ? "" : safeName(part.filename);
    const wanted = safe === "" ? `attachment-${++nameless}.${extensionOfType(part.contentType)}` : safe;
    let name = wanted;
    // Starts at the number after the last one used for this name. Otherwise a thousand parts of one name would need a million look-ups.
    for (let number = nextNumber.get(key(wanted)) ?? 2; taken.has(key(name)); number++) {
      name = numbered(wanted, number);
      nextNumber.set(key(wanted), number + 1);
    }
    taken.add(key(name));
    return name;
  });
}

const longestNameBytes = 255;

/** The name without folders, and without characters that deceive readers or terminals; `""` if nothing is left. */
function safeName(filename: string): string {
  // Replaces tabs and line ends by spaces, because they remain where a mail program folded a long name at its spaces.
  const visible = filename.toWellFormed().normalize("NFC").replace(blanks, " ").replace(controlsAndBidi, "");
  const segments = visible.split(/[/\\]/).map((segment) => segment.trim());
  const name = fitted(segments.findLast((segment) => segment !== "") ?? "", "");
  // A name of only dots could be read as a folder (`.`, `..`).
  return /^[.\s]*$/.test(name) ? "" : name;
}

const blanks = /[\t\n\v\f\r]+/g;

/** Characters to remove: the controls C0, DEL and C1, line separators, and the controls of text direction (Unicode UAX #9). */
const controlsAndBidi = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;

function numbered(name: string, number: number): string {
  return fitted(name, `-${number}`);
}

/** The name with `suffix` before its extension, and its stem cut to keep the whole within the limit. */
function fitted(name: string, suffix: string): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && utf8Length(name.slice(dot)) <= 32 ? name.slice(dot) : "";
  const stem = extension === "" ? name : name.slice(0, dot);
  const room = longestNameBytes - utf8Length(suffix) - utf8Length(extension);
  return `${truncateUtf8(stem, room).trimEnd()}${suffix}${extension}`;
}

/** The name in the form for comparison. Case is ignored, as in some file systems, so that no file overwrites another in one download. */
function key(name: string): string {
  return name.toLowerCase().normalize("NFC");
}
