import { withoutInvisible } from "../../../standards/invisible.ts";
import { codePointLength } from "../../../standards/text.ts";

/**
 * Whether a display name of the sender or of a recipient is allowed. A name that looks like an address is the classic spoof, and so is one
 * that changes the direction of the text around it.
 */
export function isDisplayName(text: string): boolean {
  if (text.length > longestName * 2 || codePointLength(text) > longestName || deceiving.test(text)) return false;
  // Mail programs would show nothing for such a name.
  return withoutInvisible(text).trim() !== "";
}

/** The rule in words. */
export const allowedName =
  "a name of 1 to 100 characters on one line, without @, < and > and without control characters or direction marks";

/** The fault of a field that is a name. */
export const displayNameRule = `must be ${allowedName}`;

const longestName = 100;

/** Characters that are not allowed: those of addresses, control characters, line breaks, and those that change text direction (UAX #9). */
const deceiving = /[@<>\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
