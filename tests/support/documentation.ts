import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One fenced block of a page. */
export interface Block {
  language: string;
  /** The words after the language, as 201 in "```json 201". */
  note: string;
  text: string;
  line: number;
}

export function blocksOf(page: string): Block[] {
  return Array.from(page.matchAll(/^```(\w+) *(.*)\n([\s\S]*?)^```$/gm), (match) => ({
    language: match[1] ?? "",
    note: match[2] ?? "",
    text: match[3] ?? "",
    line: page.slice(0, match.index).split("\n").length,
  }));
}

/** One call of a program by a block of a page. */
export interface Call {
  block: Block;
  program: "curl" | "inboxd";
  /** The arguments. */
  asked: string;
  /** The HTTP status for curl, the exit code for `inboxd`. */
  status: number;
  answer: string;
  errors: string;
}

/** The results of a page's blocks. */
export interface Pasted {
  blocks: Block[];
  calls: Call[];
}

export interface Shell {
  /** The command of an interactive shell. */
  shell: readonly string[];
  env: Record<string, string>;
  /** The command of `inboxd`. */
  inboxd: readonly string[];
}

/** Shells that a reader may have. zsh, the default of macOS, takes no comments in pasted lines. */
export const shells: Readonly<Record<string, readonly string[]>> = {
  bash: ["bash", "--norc", "--noprofile", "-i"],
  sh: ["sh", "-i"],
  zsh: ["zsh", "-f", "-i"],
};

/** The page with these texts replaced. */
export function inWords(page: string, instead: Readonly<Record<string, string>>): string {
  return Object.entries(instead).reduce((text, [from, to]) => text.replaceAll(from, to), page);
}

export function callsServer({ language, text }: Block): boolean {
  return (
    language === "sh" &&
    /\bcurl |^inboxd (?:account|approvals|audit|inbox|key|operator|messages|send|wait|webhook) /m.test(text)
  );
}

/**
 * Pastes the blocks that call a server into one interactive shell, as they stand, in order. What stands for curl and `inboxd` there
 * does as they do, and writes down what was asked and answered.
 */
export async function pasteBlocks(blocks: Block[], { shell, env, inboxd }: Shell): Promise<Pasted> {
  const directory = mkdtempSync(join(tmpdir(), "ibx-docs-"));
  const calls = join(directory, "calls");
  const programs = join(directory, "bin");
  for (const made of [calls, programs]) mkdirSync(made);
  const pasted = blocks.flatMap((block, number) =>
    callsServer(block) ? [`export DOCS_BLOCK=${number}\n${block.text}`] : [],
  );
  try {
    const bodies = { curl: curlBody(Bun.which("curl") ?? ""), inboxd: inboxdBody(inboxd) };
    for (const [program, body] of Object.entries(bodies))
      writeFileSync(join(programs, program), standIn(program, body), { mode: 0o755 });
    const child = Bun.spawn([...shell], {
      cwd: directory,
      env: { PATH: `${programs}:${process.env.PATH}`, HOME: directory, DOCS_CALLS: calls, ...env },
      stdin: new Blob([...pasted, "exit 0\n"]),
      stdout: "ignore",
      // A file, since a program may open /dev/stderr by name.
      stderr: Bun.file(join(directory, "errors")),
      // Detached, since an interactive shell would take over this run's terminal.
      detached: true,
    });
    const code = await child.exited;
    if (code !== 0)
      throw new Error(`${shell[0]} ended with ${code}: ${readFileSync(join(directory, "errors"), "utf8")}`);
    const asked = readdirSync(calls).filter((name) => name.endsWith(".asked"));
    return { blocks, calls: asked.toSorted().map((name) => callAt(join(calls, name.slice(0, -6)), blocks)) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function callAt(place: string, blocks: readonly Block[]): Call {
  const read = (name: string) => {
    const file = `${place}.${name}`;
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };
  const block = blocks[Number(read("block"))];
  if (block === undefined) throw new Error(`A call of no block: ${read("asked")}`);
  const [program, asked] = [read("program").trim() as Call["program"], read("asked").trim()];
  return { block, program, asked, status: Number(read("status")), answer: read("answer"), errors: read("errors") };
}

const standIn = (program: string, body: string) => `#!/usr/bin/env bash
shopt -s nullglob
earlier=("$DOCS_CALLS"/*.asked)
printf -v call '%s/%04d' "$DOCS_CALLS" \${#earlier[@]}
echo ${program} >"$call.program"
echo "$DOCS_BLOCK" >"$call.block"
echo "$*" >"$call.asked"
${body}
cat "$call.answer"
exit $code
`;

// The log hides events newer than the oldest transaction on the server, and other tests have transactions there. It is asked until it shows
// one, or until the server is gone: the shell outlives a test that runs into its time limit.
const curlBody = (curl: string) => `ask() {
  : >"$call.answer"
  ${curl} --noproxy '*' --max-time 30 "$@" -o "$call.answer" -w '%{http_code}' >"$call.status" 2>"$call.errors"
  code=$?
}
ask "$@"
case "$*" in
  *after=* | */v1/events/*) ;;
  */v1/events*) until [ $code -ne 0 ] || grep -q evt_ "$call.answer"; do ask "$@"; done ;;
esac`;

const inboxdBody = (inboxd: readonly string[]) => `${inboxd.join(" ")} "$@" >"$call.answer" 2>"$call.errors"
code=$?
echo $code >"$call.status"`;

/** The server's ids by the page's ids, for the whole page. */
export type KnownIds = Map<string, string>;

/**
 * The differences between an answer and the page, to the letter and in the order of fields, except ids (which stand for one and
 * the same throughout a page), instants, `…`, and the random fields of `drawn`.
 */
export function answerFaults(said: unknown, came: unknown, known: KnownIds = new Map(), at = "#"): string[] {
  if (kindOf(said) !== kindOf(came)) return [`${at} is ${kindOf(came)}, the page says ${kindOf(said)}`];
  if (Array.isArray(said) && Array.isArray(came)) {
    if (said.length !== came.length) return [`${at} has ${came.length} entries, the page says ${said.length}`];
    return said.flatMap((one, index) => answerFaults(one, came[index], known, `${at}/${index}`));
  }
  if (typeof said === "string" && typeof came === "string")
    return isAsSaid(said, came, known) ? [] : differs(at, said, came);
  if (kindOf(said) !== "object") return said === came ? [] : differs(at, said, came);
  const [there, here] = [said as Record<string, unknown>, came as Record<string, unknown>];
  const [names, found] = [Object.keys(there).join(", "), Object.keys(here).join(", ")];
  if (names !== found) return [`${at} has the fields ${found}; the page says ${names}`];
  return Object.keys(there)
    .filter((name) => !drawn.has(name))
    .flatMap((name) => answerFaults(there[name], here[name], known, `${at}/${name}`));
}

/** Fields with random values. */
const drawn: ReadonlySet<string> = new Set(["attempt", "latencyMs", "secretLast4"]);

const differs = (at: string, said: unknown, came: unknown) => [
  `${at} is ${JSON.stringify(came)}, the page says ${JSON.stringify(said)}`,
];

const varying =
  /(?<id>(?:inb|thr|msg|evt|att|whk|sup|rul)_[0-9a-z]{26})|(?<instant>\d{4}-\d\d-\d\dT[\d:.]+Z)|(?<seconds>\b\d{10}\b)|[\w+/-]*…/g;

function isAsSaid(said: string, came: string, known: KnownIds): boolean {
  const ids: string[] = [];
  let pattern = "";
  let end = 0;
  for (const match of said.matchAll(varying)) {
    const { id, instant, seconds } = match.groups ?? {};
    if (id !== undefined) ids.push(id);
    pattern += RegExp.escape(said.slice(end, match.index));
    if (id !== undefined) pattern += `(${id.slice(0, 4)}[0-9a-z]{26})`;
    else if (instant !== undefined) pattern += "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";
    else pattern += seconds === undefined ? "[\\w+/=.-]+" : "\\d{10}";
    end = match.index + match[0].length;
  }
  const found = new RegExp(`^${pattern}${RegExp.escape(said.slice(end))}$`).exec(came);
  return found?.slice(1).every((id, index) => standsFor(ids[index] ?? "", id, known)) ?? false;
}

/** One to one: neither may match two. */
function standsFor(said: string, came: string, known: KnownIds): boolean {
  const before = known.get(said);
  if (before !== undefined) return before === came;
  if ([...known.values()].includes(came)) return false;
  known.set(said, came);
  return true;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
