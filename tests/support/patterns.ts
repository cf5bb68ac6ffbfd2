/** Finds the regular expressions in TypeScript, by a walk that skips strings, templates and comments. */
export interface Pattern {
  /** Its file and line. */
  where: string;
  source: string;
  flags: string;
}

export function patternsIn(file: string, text: string): Pattern[] {
  const patterns: Pattern[] = [];
  const add = (at: number, { source, flags }: Pick<Pattern, "source" | "flags">) =>
    patterns.push({ where: `${file}:${text.slice(0, at).split("\n").length}`, source, flags });
  /** The open braces within each open `${`. */
  const templates: number[] = [];
  // A `#!` line is no part of the program.
  let at = text.startsWith("#!") ? endOf(text, "\n", 0) : 0;

  function walkTemplate(): void {
    while (at < text.length && text[at] !== "`") {
      if (text[at] === "$" && text[at + 1] === "{") {
        at += 2;
        templates.push(0);
        return;
      }
      at += text[at] === "\\" ? 2 : 1;
    }
    at += 1;
  }

  while (at < text.length) {
    const character = text[at];
    const open = templates.at(-1);
    if (character === "/" && text[at + 1] === "/") {
      at = endOf(text, "\n", at);
    } else if (character === "/" && text[at + 1] === "*") {
      at = endOf(text, "*/", at + 2);
    } else if (character === '"' || character === "'") {
      at = endOfString(text, at);
    } else if (character === "`") {
      at += 1;
      walkTemplate();
    } else if (character === "/" && mayBeginPattern(text.slice(0, at).trimEnd())) {
      const end = endOfPattern(text, at);
      const flags = /[a-z]*/y;
      flags.lastIndex = end;
      add(at, { source: text.slice(at + 1, end - 1), flags: flags.exec(text)?.[0] ?? "" });
      at = flags.lastIndex;
    } else if (text.startsWith("new RegExp(", at)) {
      const end = endOfCall(text, at);
      add(at, made(text, text.slice(at, end)));
      at = end;
    } else {
      if (open !== undefined && character === "{") templates[templates.length - 1] = open + 1;
      if (open !== undefined && character === "}") templates[templates.length - 1] = open - 1;
      at += 1;
      if (open === 0 && character === "}") {
        templates.pop();
        walkTemplate();
      }
    }
  }
  return patterns;
}

function endOf(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + mark.length;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== text[start]) at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** The position after the closing `/`, which is not within brackets. */
function endOfPattern(text: string, start: number): number {
  let inClass = false;
  let at = start + 1;
  for (; text[at] !== "/" || inClass; at++) {
    if (text[at] === "\n") throw new Error(`Cannot read patterns: a slash at ${start} begins none`);
    if (text[at] === "\\") at++;
    else if (text[at] === "[") inClass = true;
    else if (text[at] === "]") inClass = false;
  }
  return at + 1;
}

/** A slash after a value divides; after anything else it begins a pattern. */
function mayBeginPattern(before: string): boolean {
  return (
    before === "" || /[(,=:[!&|?{};+\-*%~^<>]$|\b(?:return|typeof|case|in|of|do|else|void|await|yield)$/.test(before)
  );
}

function endOfCall(text: string, start: number): number {
  let depth = 0;
  for (let at = text.indexOf("(", start); ; at++) {
    const character = text[at] ?? "";
    if (`"'\``.includes(character)) at = endOfString(text, at) - 1;
    else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return at + 1;
  }
}

/** The pattern of `new RegExp(…)`: names are replaced by the file's constants, and unknown values by a letter. */
function made(text: string, call: string): RegExp {
  const scope = new Map<string, unknown>();
  for (const [, name = "", value = ""] of text.matchAll(constant)) scope.set(name, evaluated(value, scope));
  return evaluated(call, scope) as RegExp;
}

const constant = /^ *const (\w+) = ((?:String\.raw)?`[^`]*`|"[^"]*");$/gm;

function evaluated(expression: string, scope: ReadonlyMap<string, unknown>): unknown {
  const words = new Set(expression.match(/\$\{(\w+)\}|\((\w+)[,)]/g)?.map((word) => word.replace(/\W/g, "")));
  const names = [...words].filter((word) => /^[a-z]/.test(word));
  return new Function(...names, `return ${expression}`)(...names.map((name) => scope.get(name) ?? "x"));
}
