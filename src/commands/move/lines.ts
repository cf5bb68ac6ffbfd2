/**
 * The lines of a file of any size, each as a whole; what has come of one is put together once, at its end. At line
 * feeds alone: JSON writes none, but may hold what others take for the end of a line (U+2028).
 */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const chunk of Bun.file(path).stream().pipeThrough(new TextDecoderStream())) {
    const [end = "", ...lines] = chunk.split("\n");
    begun.push(end);
    const beginning = lines.pop();
    if (beginning === undefined) continue;
    yield begun.join("");
    yield* lines;
    begun = [beginning];
  }
  const last = begun.join("");
  if (last !== "") yield last;
}
