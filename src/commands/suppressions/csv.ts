/** A record of a list: where it begins, all of it, and its fields as CSV has them. */
export interface CsvRecord {
  line: number;
  text: string;
  fields: string[];
}

/** So many lines one record may be. */
const mostLines = 100;

/** The records of a text (RFC 4180): a field in quotes may hold commas, quotes that are doubled, and ends of lines. */
export async function* recordsOf(lines: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let line = 0;
  let begun: { line: number; texts: string[] } | undefined;
  for await (const raw of lines) {
    line += 1;
    const record = begun ?? { line, texts: [] };
    record.texts.push(raw.replace(/\r$/, ""));
    const text = record.texts.join("\n");
    const isJson = text.trimStart().startsWith("{");
    // Within quotes as long as their number is odd.
    const isOpen = !isJson && record.texts.length < mostLines && text.split('"').length % 2 === 0;
    begun = isOpen ? record : undefined;
    if (!isOpen) yield { line: record.line, text, fields: isJson ? [] : fieldsOf(text) };
  }
  if (begun !== undefined) {
    const text = begun.texts.join("\n");
    yield { line: begun.line, text, fields: fieldsOf(text) };
  }
}

function fieldsOf(text: string): string[] {
  const fields: string[] = [];
  let at = 0;
  while (at <= text.length) {
    const end = text[at] === '"' ? endOfQuoted(text, at) : at;
    const comma = text.indexOf(",", end);
    const stop = comma < 0 ? text.length : comma;
    const field = text.slice(at, stop);
    fields.push(field.startsWith('"') ? field.slice(1, Math.max(1, end - at - 1)).replaceAll('""', '"') : field);
    at = stop + 1;
  }
  return fields;
}

/** Behind the quote that closes. */
function endOfQuoted(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    if (text[quote + 1] !== '"') return quote + 1;
    at = quote + 2;
  }
}
