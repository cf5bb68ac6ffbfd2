import { codesIn } from "./codes.ts";

const mostRecipients = 100;

/** Paragraphs by the address that begins them, in small letters: from one such line to the next. */
export function paragraphsOf(said: string): Map<string, string> {
  const paragraphs = new Map<string, string>();
  let address: string | undefined;
  let isOfSession = false;
  let before = "";
  for (const line of said.split("\n")) {
    const [start = "", code, begun] = beginsWithAddress.exec(line) ?? [];
    if (begun !== undefined && isToldOf(line.slice(start.length)) && paragraphs.size < mostRecipients) {
      address = begun.toLowerCase();
      // A line of a session tells of one recipient, and the next one of something else, unless it goes on with this.
      isOfSession = code !== undefined;
    } else if (isOfSession && !isFolded.test(line) && !isContinued.test(before)) address = undefined;
    before = line;
    if (address !== undefined) paragraphs.set(address, `${paragraphs.get(address) ?? ""}${line}\n`);
  }
  return paragraphs;
}

/** Addresses at the ends of lines that don't tell of the sender, for texts in which none begins a line. */
export function addressesAtEnds(said: string): string[] {
  const found = new Set<string>();
  for (const line of said.split("\n")) {
    if (found.size >= mostRecipients) break;
    const [, address] = endsWithAddress.exec(line.slice(-mostOfEnd)) ?? [];
    if (address !== undefined && !ofSender.test(line)) found.add(address.toLowerCase());
  }
  return [...found];
}

const mostOfEnd = 400;

/** Before it may stand the code of an answer. */
const beginsWithAddress =
  /^[ \t*>-]{0,20}([45][0-5]\d[ -](?:[45]\.\d{1,3}\.\d{1,3} )?)?(?:(?:to|recipient|user|address|rcpt)[ \t:]{1,9})?["'<([]{0,2}([^\s<>()[\]"':;,@]{1,128}@(?:[^\s<>()[\]"':;,@.]{1,63}\.){1,9}[^\s<>()[\]"':;,@.]{2,63})(?!\.?[^\s<>()[\]"':;,@.])[>)\]"']{0,3}/i;

/** Whether a line that begins with an address tells of it: there is nothing behind it or a sign, or text with the code of an answer. */
function isToldOf(rest: string): boolean {
  return endsThere.test(rest) || codesIn(rest).code !== undefined;
}

const endsThere = /^[ \t]{0,9}(?:$|[:;,(.[<]| -| on )/;

const endsWithAddress =
  /(?<=[ \t:<("'])([^\s<>()[\]"':;,@]{1,128}@(?:[^\s<>()[\]"':;,@.]{1,63}\.){1,9}[^\s<>()[\]"':;,@.]{2,63})[>)."' \t\r]{0,9}$/;

const ofSender = /\b(?:from|sender|reply-to)\b/i;

const isFolded = /^[ \t]/;
const isContinued = /^[45][0-5]\d-/;
