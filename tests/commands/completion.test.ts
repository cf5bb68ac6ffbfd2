import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  ["a command that has others", ["inbox", ""], ["create", "delete", "get", "help", "list"]],
  [
    "the beginning of an option",
    ["inbox", "list", "--"],
    ["--api-key", "--help", "--json", "--limit", "--offset", "--url"],
  ],
  ["an option and its value", ["inbox", "list", "--limit", "list", "--o"], ["--offset"]],
  ["a value that is spelled like a command", ["key", "create", "--name", "list", "--acc"], ["--account"]],
  ["an option whose value is anybody's", ["messages", "--limit", ""], []],
  ["an argument that is one of a few words", ["completion", ""], ["bash", "fish", "zsh"]],
  ["an argument that is a file", ["import", "every"], ["everything.jsonl"]],
  ["a question for help", ["help", "thr"], ["thread", "threads"]],
  ["a question for help on a command of others", ["webhook", "help", "re"], ["redeliver"]],
];

describe.each(shells)("The script for %s", (shell, complete) => {
  const path = Bun.which(shell);
  if (path === null) console.log(`Skipped: completion in ${shell}, since this machine has no ${shell}`);
  const script = join(directory, `script.${shell}`);

  beforeAll(async () => {
    const { code, stdout, stderr } = await runInboxd(["completion", shell]);
    expect([code, stderr]).toEqual([0, ""]);
    writeFileSync(script, stdout);
  });

  test.skipIf(path === null).each(lines)("completes behind %s", async (_behind, words, offers) => {
    const given = shell === "fish" ? [words.join(" ")] : words;
    const flags = { bash: ["--norc", "--noprofile"], zsh: ["-f"], fish: ["--no-config"] }[shell] ?? [];
    const named = shell === "fish" ? given : [shell, ...given];
    const child = Bun.spawn([path ?? shell, ...flags, "-c", complete, ...named], {
      cwd: directory,
      env: { PATH: process.env.PATH, HOME: directory, SCRIPT: script, LANG: "C" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [offered, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([
      faults,
      offered
        .split("\n")
        .filter((line) => line !== "")
        .toSorted(),
    ]).toEqual(["", offers]);
  });
});

test("a shell that there is no script for is wrong usage", async () => {
  const { code, stderr } = await runInboxd(["completion", "tcsh"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("Allowed choices are bash, zsh, fish.")]);
});
