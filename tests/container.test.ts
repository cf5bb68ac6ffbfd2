import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const house = join(import.meta.dir, "..");
const linesOf = (file: string) => readFileSync(join(house, file), "utf8").split("\n");

/** What `COPY` takes from here, not from another stage. */
const copied = linesOf("Dockerfile")
  .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
  .map((line) => line.split(" ").slice(1));

test("the container is built of what its build is sent", () => {
  const sent = linesOf(".dockerignore").filter((line) => line.startsWith("!"));
  for (const source of copied.flatMap((words) => words.slice(0, -1))) expect(sent).toContain(`!${source}`);
});

test("and that is all that the binary needs", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-container-"));
  try {
    for (const words of copied) {
      const target = words.at(-1) ?? "";
      for (const source of words.slice(0, -1)) {
        const to = join(directory, target.endsWith("/") ? join(target, source) : target);
        mkdirSync(dirname(to), { recursive: true });
        cpSync(join(house, source), to, { recursive: true });
      }
    }
    symlinkSync(join(house, "node_modules"), join(directory, "node_modules"));
    expect(existsSync(join(directory, "src/main.ts"))).toBe(true);
    const { success, logs } = await Bun.build({
      entrypoints: ["src/binary.ts", "scripts/build.ts"].map((file) => join(directory, file)),
      target: "bun",
      packages: "external",
      throw: false,
    });
    expect({ success, logs: logs.map(String) }).toEqual({ success: true, logs: [] });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
