/** A header value such as `text/plain; charset=utf-8` (RFC 2045 §5.1), as far as the structure of a mail hangs on it. */
export interface StructuredValue {
  /** Lower-case, without parameters. */
  value: string;
  /** The first of each name, names in lower case. */
  parameters: ReadonlyMap<string, string>;
  /** True where comments (RFC 5322 §3.2.2) stand in it: readers disagree about those, so nothing is built on it. */
  odd: boolean;
}

export function parseStructured(text: string): StructuredValue {
  return /["(\\]/.test(text) ? parseWithQuotes(text) : parsePlain(text);
}

/** Most values have neither quotes nor comments, and every part of every mail has two or three values. */
function parsePlain(text: string): StructuredValue {
  const [value = "", ...pieces] = text.split(";");
  const parameters = new Map<string, string>();
  for (const piece of pieces) {
    const equals = piece.indexOf("=");
    if (equals < 0) continue;
    const name = piece.slice(0, equals).trim().toLowerCase();
    if (!parameters.has(name)) parameters.set(name, piece.slice(equals + 1).trim());
  }
  return { value: value.trim().toLowerCase(), parameters, odd: false };
}

/** One walk over the value; quotes are minded, so that `name="; boundary=x"` is a name. */
function parseWithQuotes(text: string): StructuredValue {
  const parameters = new Map<string, string>();
  let value: string | undefined;
  let odd = false;
  let name: string | undefined;
  let token = "";
  let quoted = false;
  let wasQuoted = false;

  function finish(): void {
    const kept = wasQuoted ? token : token.trim();
    if (value === undefined) value = kept.toLowerCase();
    else if (name !== undefined && !parameters.has(name)) parameters.set(name, kept);
    name = undefined;
    token = "";
    wasQuoted = false;
  }

  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (quoted) {
      if (character === "\\") token += text.charAt(++at);
      else if (character === '"') quoted = false;
      else token += character;
    } else if (character === '"') {
      quoted = true;
      if (!wasQuoted) token = token.trim();
      wasQuoted = true;
    } else if (character === ";") {
      finish();
    } else if (character === "=" && value !== undefined && name === undefined) {
      name = token.trim().toLowerCase();
      token = "";
    } else if (character === "(") {
      // Behind a blank it opens a comment; within a word, as in `Invoice(1).pdf`, it is one more character.
      odd ||= token === "" || isBlank(token.at(-1));
      token += character;
    } else if (!(wasQuoted && isBlank(character))) {
      token += character;
    }
  }
  finish();
  return { value: value ?? "", parameters, odd };
}

function isBlank(character: string | undefined): boolean {
  return character === " " || character === "\t";
}
