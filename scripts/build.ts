/** Makes `dist/inboxd`: the service, its database engine, migrations and documentation in one file. */
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { compile } from "./compile.ts";

const dist = join(import.meta.dir, "../dist");
const binary = join(dist, "inboxd");

rmSync(dist, { recursive: true, force: true });
compile(binary);

// The binary contains its source maps; these are copies.
for (const map of new Bun.Glob("*.map").scanSync(dist)) rmSync(join(dist, map));
console.log(`dist/inboxd: ${(statSync(binary).size / 1e6).toFixed(1)} MB`);
