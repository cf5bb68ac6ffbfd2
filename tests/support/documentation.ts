import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One fenced block of a page. */
export interface Block {
  language: string;
  /** What stands behind the language, as 201 in "```json 201". */
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

/** One command of a page, run as a reader would. */
export interface Ran {
  block: Block;
  command: string;
  /** Of its last curl. */
  status: number;
  answer: string;
  errors: string;
}

export interface Shell {
  env: Record<string, string>;
  /** Addresses that the page names, and the ones that stand for them here. */
  instead: Readonly<Record<string, string>>;
}

/**
 * Runs the shell blocks of a page that have a curl or set a variable, in order, in one bash. A line such as
 * `INBOX=inb_…` means what it means to a reader: take the id from the last answer. INBOX, THREAD, MESSAGE and EVENT are
 * taken from each answer on a page that has no such line for them.
 */
export async function runPage(blocks: readonly Block[], { env, instead }: Shell): Promise<Ran[]> {
  const directory = mkdtempSync(join(tmpdir(), "ibx-docs-"));
  const shells = blocks.filter(({ language, text }) => language === "sh" && isToRun(text));
  const steps = shells.flatMap((block) => commandsOf(block.text).map((command) => ({ block, command })));
  const explicit = new Set(steps.map(({ command }) => idLine.exec(command)?.[1]));
  const learn = Object.entries(idsByName)
    .filter(([name]) => !explicit.has(name))
    .map(([name, prefix]) => `take ${name} ${prefix}`);
  const lines = steps.map(({ command }, number) => {
    const wanted = idLine.exec(command);
    if (wanted) return `take ${wanted[1]} ${wanted[2]}`;
    const here = Object.entries(instead).reduce((text, [from, to]) => text.replaceAll(from, to), command);
    return `last=${directory}/${number}\n{\n${here}\n} >$last 2>$last.err\n${learn.join("\n")}`;
  });
  try {
    const script = join(directory, "script");
    await Bun.write(script, `${prelude}\n${lines.join("\n")}\n`);
    const { PATH = "" } = process.env;
    const bash = Bun.spawn(["bash", script], {
      env: { PATH, HOME: directory, ...env },
      stdin: "ignore",
      stderr: "pipe",
    });
    const [faults, code] = await Promise.all([new Response(bash.stderr).text(), bash.exited]);
    if (faults !== "" || code !== 0) throw new Error(`bash ended with ${code}: ${faults}`);
    const ran = steps.map(async ({ block, command }, number): Promise<Ran | undefined> => {
      const output = Bun.file(join(directory, String(number)));
      if (!(await output.exists())) return undefined;
      const text = await output.text();
      const [, answer = "", status = "0"] = /^([\s\S]*)\nstatus (\d+)\n$/.exec(text) ?? [];
      const errors = await Bun.file(join(directory, `${number}.err`)).text();
      return { block, command, status: Number(status), answer, errors };
    });
    return (await Promise.all(ran)).filter((one) => one?.command.match(/^(?!\w+\(\)).*(?:\bcurl |^api )/s)) as Ran[];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function isToRun(text: string): boolean {
  return /\bcurl /.test(text) || text.split("\n").some((line) => idLine.test(line));
}

const idLine = /^(?:export )?(\w+)=([a-z]+_)…/;

const idsByName = { INBOX: "inb_", THREAD: "thr_", MESSAGE: "msg_", EVENT: "evt_" };

/** Lines that belong together: an open pipe, a line that goes on. */
function commandsOf(text: string): string[] {
  const commands: string[] = [];
  let open = false;
  for (const line of text.split("\n")) {
    const code = line.replace(/ {2,}#.*$/, "").trimEnd();
    if (open) commands.push(`${commands.pop()}\n${code}`);
    else if (code !== "") commands.push(code);
    open = /[\\|]$/.test(code);
  }
  return commands;
}

const prelude = `
ask() { command curl --noproxy '*' --max-time 30 -w '\\nstatus %{http_code}\\n' "$@"; }
# The log shows nothing newer than the oldest transaction of the server, and other tests have theirs.
curl() {
  case "$*" in
    *after=*|*/v1/events/*) ask "$@" ;;
    */v1/events*) for _ in {1..50}; do ask "$@" >"$last.log"; grep -q evt_ "$last.log" && break; sleep 0.2; done; cat "$last.log" ;;
    *) ask "$@" ;;
  esac
}
take() {
  local found
  found=$(grep -ohE "$2[0-9a-zA-Z]+" "$last" 2>/dev/null | head -n 1)
  [ -z "$found" ] || export "$1=$found"
}`;

/** Where an answer is of another shape than the page says: other keys, other kinds of values. */
export function shapeFaults(said: unknown, came: unknown, at = "#"): string[] {
  if (kindOf(said) !== kindOf(came)) return [`${at} is ${kindOf(came)}, the page says ${kindOf(said)}`];
  if (Array.isArray(said) && Array.isArray(came)) {
    if (said.length > 0 && came.length === 0) return [`${at} is empty`];
    return said.length === 0 ? [] : came.flatMap((one, index) => shapeFaults(said[0], one, `${at}/${index}`));
  }
  if (kindOf(said) !== "object") return [];
  const [there, here] = [said as Record<string, unknown>, came as Record<string, unknown>];
  const names = new Set([...Object.keys(there), ...Object.keys(here)]);
  return [...names].flatMap((name) => {
    if (!(name in here)) return [`${at}/${name} is missing`];
    if (!(name in there)) return [`${at}/${name} is not on the page`];
    return shapeFaults(there[name], here[name], `${at}/${name}`);
  });
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
