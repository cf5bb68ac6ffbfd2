import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, dirname, join, normalize, relative } from "node:path";
import { importsOf } from "../scripts/imports.ts";
import { filesIn, house, sourcesIn } from "../scripts/sources.ts";

const textOf = (path: string) => readFileSync(join(house, path), "utf8");

/** Every source of ours, each of which may cite a rule or name a file. */
const sources = sourcesIn(["src", "sdk/typescript", "tests", "bench", "scripts"]);

test("each decision has an id of its own, and each that a comment or a page cites is there", () => {
  const pages = filesIn("docs/decisions").map(textOf);
  const ids = pages.flatMap((page) => Array.from(page.matchAll(/^- \*\*(D-[A-Z]+-\d+)\*\*/gm), ([, id = ""]) => id));
  expect(ids.length).toBeGreaterThan(100);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  const cited = [...sources, ...filesIn("docs"), "README.md"].flatMap((path) =>
    Array.from(textOf(path).matchAll(/\bD-[A-Z]+-\d+\b/g), ([id]) => ({ path, id })),
  );
  expect(cited.filter(({ id }) => !ids.includes(id))).toEqual([]);
});

const topFiles = ["README.md", ".ci/run", "Dockerfile", "compose.yaml", "biome.json", "package.json"];
const folders = ["docs", "src", "sdk", "tests", "bench", "scripts", "lint", "drizzle", "patches", "deploy"];
const files = [...topFiles, ...folders.flatMap(filesIn)];
const names = new Set(files.map((path) => basename(path)));
/** Every file and every folder, a folder with its slash. */
const paths = new Set([
  ...files,
  ...files.flatMap((path) => {
    const parts = path.split("/").slice(0, -1);
    return parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`);
  }),
]);

/** A path with a file name, a path of a folder that begins in the root, or the bare name of a source. */
const namedPath =
  /(?<![\w./@:~$<>*{}-])(?:(?:\.\.?\/)*(?:[\w.-]+\/)+[\w.-]+\.(?:tsx?|grit|md|sql|zst|txt|patch)|(?:src|tests|bench|scripts|docs|lint|drizzle|sdk|patches|deploy)\/(?:[\w.-]+\/)*|[a-z][\w.-]*\.(?:tsx?|grit))(?![\w/*<{])/g;

/** The paths in a text that exist neither from src or docs, nor from a folder above the text. */
function stalePaths(path: string, text: string): string[] {
  const homes = ["src", "docs", ...path.split("/").map((_, index, parts) => parts.slice(0, index).join("/"))];
  return Array.from(text.replaceAll(/https?:\/\/\S+/g, "").matchAll(namedPath), ([named]) => named)
    .filter((named) => named.includes("/") || !names.has(named))
    .filter((named) => !homes.some((home) => paths.has(normalize(join(home, named)))));
}

/** The text of a page, or the comments of a program. */
function proseOf(path: string): string {
  const text = textOf(path);
  if (path.endsWith(".md")) return text;
  if (path === ".ci/run") return Array.from(text.matchAll(/^\s*#.*/gm), String).join("\n");
  return Array.from(text.matchAll(/(?<!["'`])\/\*[\s\S]*?\*\/|(?<![:"'`\\])\/\/.*/g), String).join("\n");
}

/** Files of the reader's own, not of the repository. */
const foreign = new Set([".vscode/mcp.json", "file.ts"]);

test("each path of the repository that a comment or a page names is there", () => {
  const told = files.filter((path) => /\.(?:tsx?|md|grit)$|^\.ci\/run$/.test(path));
  const stale = told.flatMap((path) =>
    stalePaths(path, proseOf(path))
      .filter((named) => !foreign.has(named))
      .map((named) => `${path}: ${named}`),
  );
  expect(stale).toEqual([]);
});

test.each([
  ["docs/house.md", "`src/smtp/gone.ts` listens", "src/smtp/gone.ts"],
  ["src/smtp/listener.ts", "// See mail/read/gone.ts.", "mail/read/gone.ts"],
  ["src/smtp/listener.ts", "/** Stands in gone-too.ts. */", "gone-too.ts"],
  ["README.md", "[the page](docs/gone.md)", "docs/gone.md"],
  ["README.md", "all of `src/gone/`", "src/gone/"],
])("in %s %j names a path that is not there", (path, text, named) => {
  expect(stalePaths(path, text)).toEqual([named]);
});

test("the house has a sentence for each room, and a room for each sentence", () => {
  const rows = Array.from(textOf("docs/house.md").matchAll(/^\| `([a-z-]+\/(?:[a-z-]+\/)*)` \| (.*) \|$/gm));
  const told = rows.flatMap(([, room = "", sentence = ""]) => [
    room,
    ...Array.from(sentence.matchAll(/`((?:[a-z-]+\/)+)`/g), ([, within = ""]) => `${room}${within}`),
  ]);
  const rooms = new Set(sourcesIn(["src"]).map((path) => `${relative("src", dirname(path))}/`));
  expect([...rooms].filter((room) => room !== "/" && !told.includes(room))).toEqual([]);
  expect(
    rows.map(([, room = ""]) => room).filter((room) => ![...rooms].some((there) => there.startsWith(room))),
  ).toEqual([]);
});

test("the README names each folder at the top and each of src", () => {
  const [, block = ""] = /^## The house\n+```\n([\s\S]*?)```/m.exec(textOf("README.md")) ?? [];
  const named = new Set(Array.from(block.matchAll(/(?<=^| {2})[.\w/-]+\/(?= )/gm), String));
  const rooms = new Set(sourcesIn(["src"]).map((path) => `${path.split("/").slice(0, 2).join("/")}/`));
  const there = [...folders, ".ci", ...[...rooms].filter((room) => !room.endsWith(".ts/"))];
  expect(there.map((name) => name.replace(/\/?$/, "/")).filter((name) => name !== "src/" && !named.has(name))).toEqual(
    [],
  );
});

test("rows are named by their keys: other engines have no places and versions of rows, nor the transaction ids of the event log", () => {
  const physical = /\b(?:ctid|[xc](?:min|max)|xid8?|pg_current_xact_id|pg_(?:current_)?snapshot\w*)\b/;
  const named = sourcesIn(["src"]).filter((path) => physical.test(textOf(path)));
  expect(named.sort()).toEqual(["src/store/events/event-log.ts", "src/store/schema.ts"]);
});

test("a command loads what only the service needs when it runs, if it does", () => {
  const loaded = importsOf(join(house, "src/main.ts"), ["at-start"]);
  const only = [
    "src/service/start.ts",
    "src/database/db.ts",
    "src/store/migrate.ts",
    "src/http/",
    "src/mail/read/",
    "src/mcp/",
  ];
  expect(loaded.has(join(house, "src/commands/send.ts"))).toBe(true);
  const needless = [...loaded]
    .map((path) => relative(house, path))
    .filter((path) => only.some((part) => path.startsWith(part)));
  expect(needless).toEqual([]);
});
