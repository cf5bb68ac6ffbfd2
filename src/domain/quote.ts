/** Each line of a text as a reply quotes it: `> ` before it, `>` before a blank line or what was quoted already. */
export function quotedLines(text: string): string[] {
  return text.split(lineBreak).map((line) => {
    if (line.trim() === "") return ">";
    return line.startsWith(">") ? `>${line}` : `> ${line}`;
  });
}

const lineBreak = /\r\n|[\r\n\v\f\x85\u2028\u2029]/;
