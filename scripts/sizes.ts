/**
 * Prints the largest files, the longest functions and the fullest folders of src and of the client: `bun run sizes`. A reader
 * decides whether each is still one idea; nothing fails on a number.
 */
import { dirname, join, relative } from "node:path";
import { functionsOf } from "./functions.ts";
import { house, sourcesIn } from "./sources.ts";

const most = 12;
const files = sourcesIn(["src", "sdk/typescript/src"]).filter((path) => path !== "sdk/typescript/src/openapi.ts");

const lengths = await Promise.all(
  files.map(async (path) => ({ lines: (await Bun.file(join(house, path)).text()).split("\n").length - 1, what: path })),
);
const functions = await functionsOf(
  join(house, "tsconfig.json"),
  files.map((path) => join(house, path)),
);
const folders = [...Map.groupBy(files, dirname)].map(([what, { length }]) => ({ lines: length, what }));

print("Largest files, in lines", lengths);
print(
  "Longest functions, in lines",
  functions.map(({ file, head, lines }) => ({ lines, what: `${relative(house, file)}  ${head}` })),
);
print("Fullest folders, in files", folders);

function print(title: string, rows: readonly { lines: number; what: string }[]): void {
  const largest = rows.toSorted((one, other) => other.lines - one.lines).slice(0, most);
  console.log([title, ...largest.map(({ lines, what }) => `${String(lines).padStart(6)}  ${what}`), ""].join("\n"));
}
