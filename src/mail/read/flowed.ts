/**
 * The paragraphs of format=flowed text (RFC 3676 §4). Quote marks come off before lines are joined, and only lines of one
 * depth are: a reply never runs into what it answers. `deleteSpace` is DelSp=yes (§4.1), of scripts that write without spaces.
 */
export function unflowed(text: string, deleteSpace: boolean): string {
  const paragraphs: string[] = [];
  let open = false;
  let openDepth = 0;
  for (const line of text.split("\n")) {
    const depth = quoteDepth(line);
    const start = line[depth] === " " ? depth + 1 : depth;
    const content = line.slice(start);
    // A signature's separator is neither flowed nor fixed (§4.3).
    const isSignature = content === "-- ";
    const isSoft = content.endsWith(" ") && !isSignature;
    const words = isSoft && deleteSpace ? content.slice(0, -1) : content;
    if (open && depth === openDepth && !isSignature) paragraphs.push(`${paragraphs.pop()}${words}`);
    // The space that a sender puts before a quote's words is the usual look of one.
    else paragraphs.push(depth === 0 ? words : line.slice(0, start) + words);
    open = isSoft;
    openDepth = depth;
  }
  return paragraphs.join("\n");
}

function quoteDepth(line: string): number {
  let depth = 0;
  while (line[depth] === ">") depth++;
  return depth;
}
