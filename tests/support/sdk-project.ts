import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSdk } from "../../scripts/build-sdk.ts";

const house = join(import.meta.dir, "../..");

export interface SdkProject extends Disposable {
  directory: string;
  write(file: string, text: string): void;
  /** What a strict compiler says of all TypeScript files of the project; empty if nothing. */
  compiled(): Promise<string>;
}

/**
 * A project that has installed the TypeScript client as it is published, the types of Node, and these packages of
 * tests/foreign-tools.
 */
export function sdkProject(foreign: readonly string[] = []): SdkProject {
  const directory = mkdtempSync(join(tmpdir(), "ibx-sdk-project-"));
  const modules = join(directory, "node_modules");
  mkdirSync(join(modules, "inboxd"), { recursive: true });
  buildSdk(join(modules, "inboxd/dist"));
  cpSync(join(house, "sdk/typescript/package.json"), join(modules, "inboxd/package.json"));
  const link = (from: string, name: string) => {
    mkdirSync(join(modules, name, ".."), { recursive: true });
    symlinkSync(join(house, from, name), join(modules, name));
  };
  for (const name of ["@types/node", "undici-types"]) link("node_modules", name);
  for (const name of foreign) link("tests/foreign-tools/node_modules", name);
  writeFileSync(join(directory, "package.json"), '{"type":"module"}');
  return {
    directory,
    write: (file, text) => writeFileSync(join(directory, file), text),
    async compiled() {
      const files = readdirSync(directory).filter((name) => name.endsWith(".ts"));
      const words = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"];
      const tsc = [process.execPath, join(house, "node_modules/.bin/tsc"), ...words, "--types", "node", ...files];
      const child = Bun.spawn(tsc, { cwd: directory });
      return new Response(child.stdout).text();
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
