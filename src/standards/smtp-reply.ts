/** A complete SMTP reply (RFC 5321 §4.2), with the enhanced code of RFC 2034 taken out of its text. */
export interface SmtpReply {
  code: number;
  enhancedCode: string | undefined;
  /** The text of all lines as one clean line; may be empty. */
  text: string;
}

const replyLine = /^([2-5][0-9]{2})(?:([ -])(.*))?$/s;
const enhancedCodeShape = /^([245])\.[0-9]{1,3}\.[0-9]{1,3}(?=\s|$)/;

/**
 * The reply that these lines are, or `undefined` for garbage: a line without a code, lines with different codes,
 * a last line that promises another. Garbage must never pass for an acceptance.
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
    // A class that contradicts the code is not an enhanced code (RFC 2034 §4), just text that looks like one.
    if (enhanced && enhanced[1] === line[0]) {
      enhancedCode ??= enhanced[0];
      texts.push(text.slice(enhanced[0].length));
    } else {
      texts.push(text);
    }
  }
  return code === undefined ? undefined : { code, enhancedCode, text: cleanLine(texts.join(" "), 1000) };
}

/** The reply as one line, as it would be shown in a log: `250 2.0.0 Ok: queued as 4F5B12C0A1`. */
export function replyAsLine({ code, enhancedCode, text }: SmtpReply): string {
  return [code, enhancedCode, text].filter((part) => part !== undefined && part !== "").join(" ");
}

/**
 * Foreign text as one clean line: what a peer says is stored, logged and shown, so nothing in it may break a line,
 * turn the writing direction or be invalid Unicode. At most `maxLength` code points.
 */
export function cleanLine(text: string, maxLength = 500): string {
  const line = text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join("")}…`;
}

/** The facts of a reply to EHLO that a sender needs: keywords in upper case with their parameters (RFC 5321 §4.1.1.1). */
export function parseExtensions(rawReply: string): ReadonlyMap<string, string> {
  const extensions = new Map<string, string>();
  // The first line is the server's name and greeting, not an extension.
  for (const line of rawReply.split(/\r?\n/).slice(1)) {
    const match = /^250[ -]([A-Za-z0-9][A-Za-z0-9-]*)(?:[ =](.*))?$/.exec(line.trimEnd());
    if (match?.[1] !== undefined) extensions.set(match[1].toUpperCase(), match[2]?.trim() ?? "");
  }
  return extensions;
}
