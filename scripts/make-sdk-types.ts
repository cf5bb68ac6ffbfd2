/**
 * Makes the types of the SDK from the document at `/openapi.json`: `bun run sdk`. After a change of the API `bun run drift`
 * fails until they are remade.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { readConfig } from "../src/config.ts";
import { startService } from "../src/service/start.ts";

const home = join(import.meta.dir, "../sdk/typescript");
const typesFile = join(home, "src/openapi.ts");

if (import.meta.main) {
  writeFileSync(typesFile, await madeTypes());
  console.log("sdk/typescript/src/openapi.ts is what the document says");
}

/** Whether the types in the repository match the document. */
export async function areTypesFresh(): Promise<boolean> {
  return readFileSync(typesFile, "utf8") === (await madeTypes());
}

async function madeTypes(): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), "ibx-sdk-"));
  try {
    const [document, types] = [join(place, "openapi.json"), join(place, "openapi.ts")];
    writeFileSync(document, await servedDocument(join(place, "data")));
    const tool = Bun.spawnSync(
      [process.execPath, "node_modules/openapi-typescript/bin/cli.js", document, "--output", types],
      { cwd: home, stdin: "ignore", stdout: "ignore", stderr: "inherit" },
    );
    if (tool.exitCode !== 0) throw new Error(`Cannot make the types: openapi-typescript ended with ${tool.exitCode}`);
    return readFileSync(types, "utf8");
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** The document of a service with default settings, started for it. */
async function servedDocument(dataDir: string): Promise<string> {
  const config = readConfig({ DATA_DIR: dataDir, PORT: "0", SMTP_PORT: "0" });
  const service = await startService(config, pino({ level: "silent" }));
  try {
    return await (await fetch(new URL("/openapi.json", service.apiUrl))).text();
  } finally {
    await service.stop();
  }
}
