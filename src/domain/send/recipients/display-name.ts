import { withoutInvisible } from "../../../standards/invisible.ts";
import { codePointLength } from "../../../standards/text.ts";

/**
 * A name that may stand beside an address in our mail: of the sender, or of a recipient. One that looks like an address is the
 * classic spoof, and so is one that turns the text around it.
 */
export function isDisplayName(text: string): boolean {
  if (text.length > longestName * 2 || codePointLength(text) > longestName || deceiving.test(text)) return false;
  // Readers show nothing of such a name, and so the address of somebody else's choice would stand alone.
  return withoutInvisible(text).trim() !== "";
}

/** The same in words, for whoever gave another one. */
export const displayNameRule =
  "must be a name of 1 to 100 characters on one line, without @, < and > and without controls or marks of direction";

const longestName = 100;

/** What an address is made with; C0, DEL, C1, Unicode's own line breaks, and what turns the direction of text (UAX #9). */
const deceiving = /[@<>\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
