/** Parts of code that get a colour. */
type Kind = "string" | "name" | "number" | "word" | "comment";

// The end of a string is optional: otherwise the pattern would read the rest of the code again at every unclosed quote.
const piece =
  /(?<string>"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\]|\\[\s\S])*'?|`[^`]*`?)|(?<comment>(?:#|\/\/) [^\n]*)|(?<number>(?<![\w.:/-])\d+(?:\.\d+)?(?![\w.:/-]))|(?<word>\b(?:true|false|null|True|False|None|const|await|import|from|export|function|return|if|with|as|curl|for|def|type|func|package)\b)/g;

/** Longer text gets no colours. */
const longest = 100_000;

/** Colours a piece of code. Its text never becomes markup. */
export function highlight(code: Element): void {
  const text = code.textContent;
  if (text.length > longest) return;
  const parts: (string | Node)[] = [];
  let end = 0;
  for (const match of text.matchAll(piece)) {
    parts.push(text.slice(end, match.index), colored(kindOf(match, text), match[0]));
    end = match.index + match[0].length;
  }
  code.replaceChildren(...parts, text.slice(end));
}

function kindOf({ groups = {}, index, 0: found }: RegExpExecArray, text: string): Kind {
  const kind = (["string", "comment", "number", "word"] as const).find((name) => groups[name] !== undefined) ?? "word";
  return kind === "string" && text[index + found.length] === ":" ? "name" : kind;
}

function colored(kind: Kind, text: string): HTMLElement {
  const span = document.createElement("span");
  span.className = `code-${kind}`;
  span.textContent = text;
  return span;
}
