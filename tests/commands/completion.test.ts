import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { completionScript } from "../../src/commands/completion.ts";
import { runInboxd } from "../support/inboxd.ts";

/** Each script is tried in its own shell, as that shell runs it when somebody presses tab behind the words. */
const shells: readonly [shell: string, complete: string][] = [
  [
    "bash",
    `source "$SCRIPT"
     COMP_WORDS=(inboxd "$@") COMP_CWORD=$#
     _inboxd 2>/dev/null
     printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  [
    "zsh",
    // Outside of a terminal there is nobody to complete for: what the script would hand on is printed.
    `compdef() { : }
     _describe() { shift $(($# - 1)); local each; for each in "\${(@P)1}"; do print -r -- "\${each%%:*}"; done }
     _files() { print -rl -- *(N) }
     words=(inboxd "$@") CURRENT=$(($# + 1))
     source "$SCRIPT"
     _inboxd | while read -r each; do [[ $each == "$words[CURRENT]"* ]] && print -r -- "$each"; done; true`,
  ],
  ["fish", 'source "$SCRIPT"; complete -C "inboxd $argv" | string replace -r "\\t.*" ""'],
];

const directory = mkdtempSync(join(tmpdir(), "ibx-completion-"));
afterAll(() => rmSync(directory, { recursive: true }));
beforeAll(() => writeFileSync(join(directory, "everything.jsonl"), ""));

const lines: readonly [behind: string, words: string[], offers: string[]][] = [
  ["nothing but the beginning of a command", ["thr"], ["thread", "threads"]],
  ["a command that has others", ["inbox", ""], ["alias", "create", "delete", "export", "get", "help", "list", "set"]],
  [
    "the beginning of an option",
    ["inbox", "list", "--"],
    ["--api-key", "--help", "--json", "--limit", "--offset", "--url"],
  ],
  ["an option and its value", ["inbox", "list", "--limit", "list", "--o"], ["--offset"]],
  ["a value that is spelled like an option", ["key", "create", "--name", "--account", "--j"], ["--json"]],
  ["an option whose value is anybody's", ["messages", "--limit", ""], []],
  ["an argument that is one of a few words", ["completion", ""], ["bash", "fish", "zsh"]],
  ["an argument that is a file", ["import", "every"], ["everything.jsonl"]],
  ["a question for help", ["help", "thr"], ["thread", "threads"]],
  ["a question for help on a command of others", ["webhook", "help", "re"], ["recover", "redeliver", "remove"]],
  ["an option of one of several commands", ["webhook", "change", "--en"], ["--enable"]],
  ["an option whose value has commas", ["tail", "--types", "message.sent,", "--sk"], ["--skip-automated"]],
];

/** What inboxd itself has not: a command with an option of its own and commands below, and words that a shell reads otherwise. */
function anotherProgram(): Command {
  const program = new Command("inboxd");
  const group = program.command("group").description("it's 100% $HOME, `w` \\ a: b").option("--in <name>", "it's");
  group.command("list").option("--from <file>");
  group.command("last");
  return program;
}

const linesOfAnother: readonly [behind: string, words: string[], offers: string[]][] = [
  ["a command whose words a shell reads otherwise", ["gr"], ["group"]],
  ["a value that is spelled like a command", ["group", "--in", "list", "la"], ["last"]],
  ["an option whose value is a file", ["group", "list", "--from", "every"], ["everything.jsonl"]],
];

describe.each(shells)("The script for %s", (shell, complete) => {
  const path = Bun.which(shell);
  if (path === null) console.log(`Skipped: completion in ${shell}, since this machine has no ${shell}`);
  const script = join(directory, `script.${shell}`);
  const another = join(directory, `another.${shell}`);

  beforeAll(async () => {
    const { code, stdout, stderr } = await runInboxd(["completion", shell]);
    expect([code, stderr]).toEqual([0, ""]);
    writeFileSync(script, stdout);
    writeFileSync(another, completionScript(shell, anotherProgram()));
  });

  async function offered(words: readonly string[], file: string): Promise<[faults: string, offers: string[]]> {
    const given = shell === "fish" ? [words.join(" ")] : [shell, ...words];
    const flags = { bash: ["--norc", "--noprofile"], zsh: ["-f"], fish: ["--no-config"] }[shell] ?? [];
    const child = Bun.spawn([path ?? shell, ...flags, "-c", complete, ...given], {
      cwd: directory,
      env: { PATH: process.env.PATH, HOME: directory, SCRIPT: file, LANG: "C" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [text, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const offers = text.split("\n").filter((line) => line !== "");
    return [faults, offers.toSorted()];
  }

  test.skipIf(path === null).each(lines)("completes behind %s", async (_behind, words, offers) => {
    expect(await offered(words, script)).toEqual(["", offers]);
  });

  test.skipIf(path === null).each(linesOfAnother)(
    "made of another program completes behind %s",
    async (_, words, offers) => {
      expect(await offered(words, another)).toEqual(["", offers]);
    },
  );
});

test("a shell that there is no script for is wrong usage", async () => {
  const { code, stderr } = await runInboxd(["completion", "tcsh"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish.")]);
});
