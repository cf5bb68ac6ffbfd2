import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSdk } from "../../scripts/build-sdk.ts";
import { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import { chromiumPath, startBrowser } from "../support/browser.ts";
import { blocksOf } from "../support/documentation.ts";
import { startLossyProxy } from "../support/lossy-proxy.ts";
import { tour } from "../support/sdk-tour.ts";
import { startWorld, type World } from "../support/world.ts";

const house = join(import.meta.dir, "../..");
const sends = Number(process.env.SDK_SENDS ?? 40);
const node = nodeHere();
const deno = Bun.which("deno");
if (deno === null) console.log("Skipped: the client on Deno, which is not installed here");
if (node === null) console.log("Skipped: the client on Node, which is not installed here");

const place = mkdtempSync(join(tmpdir(), "ibx-sdk-test-"));
let world: World;
beforeAll(async () => {
  // As it is published: modules of JavaScript, and the program beside them.
  buildSdk(place);
  const source = readFileSync(join(import.meta.dir, "../support/sdk-tour.ts"), "utf8");
  writeFileSync(join(place, "tour.js"), new Bun.Transpiler({ loader: "ts" }).transformSync(source));
  writeFileSync(join(place, "package.json"), '{"type":"module"}');
  world = await startWorld({
    env: { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", INBOXES_PER_DAY: "0" },
  });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(place, { recursive: true });
});

/** A script that Bun runs on a machine without Node finds Bun itself by that name. */
function nodeHere(): string | null {
  const found = Bun.which("node");
  if (found === null) return null;
  const { stdout } = Bun.spawnSync([found, "-p", "process.versions.bun"]);
  return stdout.toString().trim() === "undefined" ? found : null;
}

/** What the tour prints in another runtime, which reads its program from its input. */
async function said(command: string[], baseUrl: string): Promise<string> {
  const program = `import { Inboxd } from "./inboxd.js"; import { tour } from "./tour.js";
    console.log(JSON.stringify(await tour(Inboxd, ${JSON.stringify({ baseUrl, apiKey: world.apiKey })}, ${sends})));`;
  const child = Bun.spawn(command, { cwd: place, stdin: new Blob([program]), stderr: "pipe" });
  const [printed, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(faults).toBe("");
  return printed;
}

function expectOnceEach(told: Awaited<ReturnType<typeof tour>>): void {
  const once = Array.from({ length: sends }, (_, index) => `mail ${index}`).toSorted();
  expect(told).toEqual({
    sent: once,
    heard: once,
    listed: once,
    read: sends,
    refused: ["InboxdError", 404, "not_found"],
  });
}

describe("Behind a proxy that loses, delays and doubles half of the answers, each send is one mail", () => {
  test("in Bun", async () => {
    await using proxy = await startLossyProxy({ to: world.service.apiUrl });
    expectOnceEach(await tour(Inboxd, { baseUrl: proxy.url, apiKey: world.apiKey }, sends));
    for (const fate of ["is lost", "is late", "is doubled"] as const) expect(proxy.fates.get(fate)).toBeGreaterThan(5);
  }, 120_000);

  test.skipIf(node === null)(
    "on Node",
    async () => {
      await using proxy = await startLossyProxy({ to: world.service.apiUrl });
      expectOnceEach(JSON.parse(await said([node ?? "", "--input-type=module", "-"], proxy.url)));
    },
    120_000,
  );

  test.skipIf(deno === null)(
    "on Deno",
    async () => {
      await using proxy = await startLossyProxy({ to: world.service.apiUrl });
      expectOnceEach(JSON.parse(await said([deno ?? "", "run", "--allow-net=127.0.0.1", "-"], proxy.url)));
    },
    120_000,
  );

  test.skipIf(chromiumPath === undefined)(
    "in a page with the cookie of a session, and no key",
    async () => {
      await using proxy = await startLossyProxy({
        to: world.service.apiUrl,
        headers: (request): Record<string, string> =>
          request.headers.get("cookie") === "session=1" ? { authorization: `Bearer ${world.apiKey}` } : {},
        own(path) {
          if (path === "/") {
            const headers = { "content-type": "text/html", "set-cookie": "session=1; HttpOnly; SameSite=Strict" };
            return new Response("<title>A page</title>", { headers });
          }
          return /^\/[a-z-]+\.js$/.test(path) ? new Response(Bun.file(join(place, path))) : undefined;
        },
      });
      await using browser = await startBrowser();
      const { page } = await browser.open(proxy.url);
      const told = await page.evaluate(
        `Promise.all([import("/inboxd.js"), import("/tour.js")]).then(([{ Inboxd }, { tour }]) => tour(Inboxd, { baseUrl: "" }, ${sends}))`,
      );
      expectOnceEach(told as Awaited<ReturnType<typeof tour>>);
    },
    120_000,
  );
});

test.skipIf(node === null)("On Node a program can require it, or import it, and both are the same client", async () => {
  const [directory, baseUrl] = [installed("commonjs"), world.service.apiUrl.href];
  const closed = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  const away = `127.0.0.1:${closed.port}`;
  await closed.stop(true);
  const program = `const { Inboxd, InboxdError, verifyWebhook } = require("inboxd");
    const inboxd = new Inboxd({ baseUrl: ${JSON.stringify(baseUrl)}, apiKey: ${JSON.stringify(world.apiKey)} });
    const away = new Inboxd({ baseUrl: "http://${away}", apiKey: "key", retries: 0 });
    (async () => {
      const { plan } = await inboxd.account.get();
      const error = await away.account.get().catch((error) => error);
      const { Inboxd: Imported } = await import("inboxd");
      console.log(JSON.stringify([plan, error instanceof InboxdError, error.message, Object.keys(new Imported(away)).join() === Object.keys(away).join(), typeof verifyWebhook]));
    })();`;
  writeFileSync(join(directory, "program.cjs"), program);
  const child = Bun.spawn([node ?? "", "program.cjs"], { cwd: directory, stderr: "pipe" });
  const [printed, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(faults).toBe("");
  const message = `Cannot GET /v1/account: http://${away} does not answer: connect ECONNREFUSED ${away}`;
  expect(JSON.parse(printed)).toEqual(["developer", true, message, true, "function"]);
});

test("In a page it takes at most 10 kB, gzipped and not minified, and as much as its README says", async () => {
  const bytes = await gzippedBytes({ minify: false });
  expect(bytes).toBeGreaterThan(2_000);
  expect(bytes).toBeLessThanOrEqual(10_000);
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1_000)} kB`;
  const minified = kilobytes(await gzippedBytes({ minify: true }));
  expect(readme).toContain(`no dependency, ${kilobytes(bytes)} gzipped in a page, ${minified} if it is minified.`);
});

async function gzippedBytes({ minify }: { minify: boolean }): Promise<number> {
  const built = await Bun.build({ entrypoints: [join(place, "inboxd.js")], target: "browser", minify });
  const [bundle] = built.outputs;
  return Bun.gzipSync(new Uint8Array((await bundle?.arrayBuffer()) ?? [])).length;
}

const readme = readFileSync(join(house, "sdk/typescript/README.md"), "utf8");
const guide = readFileSync(join(house, "docs/sdk.md"), "utf8");
const textOf = (page: string, language: string) =>
  blocksOf(page)
    .filter((block) => block.language === language)
    .map(({ text }) => text);

test.each([
  ["README", readme],
  ["guide", guide],
])("The lines of its %s are what a strict compiler takes, and it would see a fault in them", async (_, page) => {
  const program = textOf(page, "ts").join("\n");
  expect(await compiled(program)).toEqual([0, ""]);
  // CommonJS has no `await` at the top level.
  const imports = program.match(/^import .*$/gm)?.join("\n");
  const rest = program.replaceAll(/^import .*$/gm, "");
  expect(await compiled(`${imports}\nexport async function main() {\n${rest}\n}`, "commonjs")).toEqual([0, ""]);
  const [code, said] = await compiled(`${program}\nconst { subject } = (await inboxd.messages.wait("inb_1")).message;`);
  expect([code, said]).toEqual([1, expect.stringContaining("error TS2339")]);
});

/** A project of that type that has installed what is published. */
function installed(type: "module" | "commonjs"): string {
  const directory = mkdtempSync(join(place, "project-"));
  mkdirSync(join(directory, "node_modules/inboxd"), { recursive: true });
  symlinkSync(join(house, "node_modules/@types"), join(directory, "node_modules/@types"));
  symlinkSync(place, join(directory, "node_modules/inboxd/dist"));
  cpSync(join(house, "sdk/typescript/package.json"), join(directory, "node_modules/inboxd/package.json"));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ type }));
  return directory;
}

/** What a compiler says of a program in a project that has no other settings than `--strict`. */
async function compiled(
  program: string,
  type: "module" | "commonjs" = "module",
): Promise<[code: number, said: string]> {
  const directory = installed(type);
  writeFileSync(join(directory, "program.ts"), program);
  const words = ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--types", "node", "program.ts"];
  const child = Bun.spawn([process.execPath, join(house, "node_modules/.bin/tsc"), ...words], { cwd: directory });
  return [await child.exited, await new Response(child.stdout).text()];
}

test("The packing runs the Bun that the README names", () => {
  const { scripts } = JSON.parse(readFileSync(join(house, "sdk/typescript/package.json"), "utf8"));
  const [, version] = /^npx -y bun@(\S+) run --cwd \.\.\/\.\. build-sdk$/.exec(scripts.prepack) ?? [];
  expect(readFileSync(join(house, "README.md"), "utf8")).toContain(`npx -y bun@${version} run start`);
  const own = JSON.parse(readFileSync(join(house, "package.json"), "utf8")).scripts;
  expect([own["prebuild-sdk"], own["build-sdk"]]).toEqual([own.prestart, "bun scripts/build-sdk.ts"]);
});

test("The lines of its README do what they say", async () => {
  const [lines = ""] = textOf(readme, "ts");
  const program = lines
    .replace(/^import .*$/m, "")
    .replace('"http://127.0.0.1:3000"', "baseUrl")
    .replace(/process\S+ \?\? ""/, "apiKey");
  const run = new Function("Inboxd", "baseUrl", "apiKey", `return (async () => { ${program}\n return inbox; })()`);
  const inbox = await run(Inboxd, world.service.apiUrl, world.apiKey);
  expect(inbox).toMatchObject({ address: "ada@inbox.localhost" });
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
  expect(body.data).toMatchObject([{ subject: "Hi", direction: "outbound" }]);
});

test("The lines of its guide print what it says", async () => {
  await using fresh = await startWorld({ database: "embedded" });
  const program = new Bun.Transpiler({ loader: "ts" }).transformSync(textOf(guide, "ts").join("\n"));
  writeFileSync(
    join(place, "guide.js"),
    program.replace('"inboxd"', '"./inboxd.js"').replace('"inboxd/tools"', '"./tools.js"'),
  );
  const child = Bun.spawn([process.execPath, "guide.js"], {
    cwd: place,
    env: { INBOXD_URL: fresh.service.apiUrl.origin, INBOXD_API_KEY: fresh.apiKey },
    stderr: "pipe",
  });
  const [printed, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([printed, faults]).toEqual([textOf(guide, "text").join(""), ""]);
});
