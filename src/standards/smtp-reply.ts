/** A complete SMTP reply (RFC 5321 §4.2), with its enhanced code (RFC 2034) separate from the text. */
export interface SmtpReply {
  code: number;
  enhancedCode: string | undefined;
  /** The text of all lines as one clean line. It may be empty. */
  text: string;
}

const replyLine = /^([2-5][0-9]{2})(?:([ -])(.*))?$/s;
const enhancedCodeShape = /^([245])\.[0-9]{1,3}\.[0-9]{1,3}(?=\s|$)/;

/**
 * Parses a reply. `undefined` for an invalid one, which must never count as an acceptance: a line without a code, lines with different
 * codes, or a last line that announces another line.
 */
export function parseSmtpReply(raw: string): SmtpReply | undefined {
  const lines = raw.replace(/\r?\n$/, "").split(/\r?\n/);
  const texts: string[] = [];
  let code: number | undefined;
  let enhancedCode: string | undefined;
  for (const [index, line] of lines.entries()) {
    const match = replyLine.exec(line);
    if (!match) return undefined;
    const lineCode = Number(match[1]);
    const isLast = index === lines.length - 1;
    if ((code !== undefined && lineCode !== code) || (match[2] === "-") === isLast) return undefined;
    code = lineCode;
    const text = match[3] ?? "";
    const enhanced = enhancedCodeShape.exec(text);
    // An enhanced code begins with the same digit as the code (RFC 2034 §4). Otherwise it is part of the text.
    if (enhanced && enhanced[1] === line[0]) {
      enhancedCode ??= enhanced[0];
      texts.push(text.slice(enhanced[0].length));
    } else {
      texts.push(text);
    }
  }
  return code === undefined ? undefined : { code, enhancedCode, text: cleanLine(texts.join(" "), 1000) };
}

/** The reply as one line, for logs: `250 2.0.0 Ok: queued as 4F5B12C0A1`. */
export function replyAsLine({ code, enhancedCode, text }: SmtpReply): string {
  return [code, enhancedCode, text].filter((part) => part !== undefined && part !== "").join(" ");
}

/**
 * A peer's text as one clean line of at most `maxLength` code points. It is stored, logged and shown, so it must not have line breaks,
 * direction controls or invalid Unicode.
 */
export function cleanLine(text: string, maxLength = 500): string {
  const line = text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join("")}…`;
}

/** The extensions in a reply to EHLO: keywords in upper case, with their parameters (RFC 5321 §4.1.1.1). */
export function parseExtensions(rawReply: string): ReadonlyMap<string, string> {
  const extensions = new Map<string, string>();
  // The first line has the server's name and greeting.
  for (const line of rawReply.split(/\r?\n/).slice(1)) {
    const match = /^250[ -]([A-Za-z0-9][A-Za-z0-9-]*)(?:[ =](.*))?$/.exec(line.trimEnd());
    if (match?.[1] !== undefined) extensions.set(match[1].toUpperCase(), match[2]?.trim() ?? "");
  }
  return extensions;
}
