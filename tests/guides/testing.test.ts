import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { chromiumPath } from "../support/browser.ts";
import { blocksOf, inWords } from "../support/documentation.ts";
import { haveForeignTools, howToInstall } from "../support/foreign-tools.ts";
import { inboxdHere } from "../support/inboxd.ts";
import { type SdkProject, sdkProject } from "../support/sdk-project.ts";
import { startWorld } from "../support/world.ts";

const page = readFileSync(join(import.meta.dir, "../../docs/testing.md"), "utf8");
const blocks = blocksOf(page);
const blockWith = (text: string) => blocks.find((block) => block.text.includes(text))?.text ?? expect.unreachable();
const playwright = join(import.meta.dir, "../foreign-tools/node_modules/@playwright/test/cli.js");

const areInstalled = haveForeignTools();
if (!areInstalled) console.log(`Skipped: the guide to tests with Playwright, which is not here; ${howToInstall}`);

let project: SdkProject;
beforeAll(() => {
  project = sdkProject(areInstalled ? ["@playwright/test"] : []);
}, 60_000);
afterAll(() => project?.[Symbol.dispose]());

test.skipIf(!areInstalled || chromiumPath === undefined)(
  "The server starts and the Playwright tests pass as the guide writes them",
  async () => {
    const [api, smtp] = [freePort(), freePort()];
    await using app = signUpApp(`smtp://127.0.0.1:${smtp}/?ignoreTLS=true`);
    expect(page).toContain("smtp://127.0.0.1:3025/?ignoreTLS=true");
    const tests = join(project.directory, "e2e");
    const programs = join(project.directory, "bin");
    for (const made of [tests, programs]) mkdirSync(made);
    writeFileSync(join(programs, "inboxd"), `#!/bin/sh\nexec ${inboxdHere.join(" ")} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(tests, "sign-up.spec.ts"), blockWith("@playwright/test"));
    const launch = { executablePath: chromiumPath, args: ["--no-sandbox", "--disable-gpu"] };
    const config = { timeout: 60_000, workers: 1, reporter: "line", use: { baseURL: app.url, launchOptions: launch } };
    writeFileSync(join(tests, "playwright.config.ts"), `export default ${JSON.stringify(config)};`);

    const script = `${inWords(blockWith("inboxd healthcheck"), { "3030": String(api), "3025": String(smtp) })}
"${Bun.which("node") ?? process.execPath}" "${playwright}" test --config "${tests}"
code=$?
kill %1
wait
exit $code`;
    const child = Bun.spawn(["bash", "-c", script], {
      cwd: project.directory,
      env: {
        PATH: `${programs}:${process.env.PATH}`,
        HOME: project.directory,
        TMPDIR: project.directory,
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [said, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect([await child.exited, said, faults]).toEqual([0, expect.stringContaining("2 passed"), expect.anything()]);
  },
  180_000,
);

test("The lines with the TypeScript client are what a strict compiler takes, and they get the code", async () => {
  const [client, again] = [blockWith("codeAfter"), blockWith("Send again")];
  project.write("code-after.ts", client);
  project.write(
    "again.ts",
    `import type { Inboxd } from "inboxd";
interface Page { getByRole(role: string, options: { name: string }): { click(): Promise<void> } }
export async function again(inboxd: Inboxd, inbox: { id: string }, page: Page) {
${again}
return message;
}`,
  );
  expect(await project.compiled()).toBe("");

  await using world = await startWorld();
  project.write(
    "run.ts",
    `import { Inboxd } from "inboxd";
import { codeAfter } from "./code-after.ts";
import { again } from "./again.ts";
const deliver = (to: string, code: number) => fetch(process.env.DELIVER + "?to=" + to + "&code=" + code).then(() => {});
let to = "";
const code = await codeAfter((address) => deliver(to = address, 111222));
const inboxd = new Inboxd({ baseUrl: process.env.INBOXD_URL ?? "", apiKey: process.env.INBOXD_API_KEY ?? "" });
const inbox = await inboxd.inboxes.find(to);
const page = { getByRole: () => ({ click: () => deliver(to, 333444) }) };
const second = await again(inboxd, { id: inbox?.id ?? "" }, page);
console.log(code, second?.codes[0]?.code);`,
  );
  await using mailer = Bun.serve({
    port: 0,
    async fetch({ url }) {
      const { searchParams } = new URL(url);
      const to = searchParams.get("to") ?? "";
      const mail = `From: no-reply@app.example\r\nTo: ${to}\r\nSubject: Your code\r\n\r\nYour code is ${searchParams.get("code")}.\r\n`;
      return new Response(await world.deliver(mail, to));
    },
  });
  const child = Bun.spawn([process.execPath, join(project.directory, "run.ts")], {
    env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey, DELIVER: mailer.url.href },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, faults] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([said, faults]).toEqual(["111222 333444\n", ""]);
}, 60_000);

function freePort(): number {
  const server = Bun.serve({ port: 0, fetch: () => new Response() });
  const { port = 0 } = server;
  void server.stop(true);
  return port;
}

/** A program with a sign-up that sends a code and a link by SMTP. */
function signUpApp(smtp: string) {
  const transport = createTransport(smtp);
  const codes = new Map<string, string>();
  const html = (body: string) => new Response(body, { headers: { "content-type": "text/html" } });
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const form = request.method === "POST" ? await request.formData() : url.searchParams;
      const given = (name: string) => String(form.get(name) ?? "");
      if (url.pathname === "/confirm") {
        const isRight = codes.get(given("email")) === given("code");
        return html(isRight ? "<p>Welcome</p>" : "<p>Wrong code</p>");
      }
      if (request.method === "GET") {
        return html('<form method="post"><label>Email <input name="email"></label><button>Sign up</button></form>');
      }
      const email = given("email");
      const code = String(482_000 + codes.size);
      codes.set(email, code);
      const link = `http://localhost:${url.port}/confirm?${new URLSearchParams({ email, code })}`;
      await transport.sendMail({
        from: "no-reply@app.example",
        to: email,
        subject: "Confirm your address",
        html: `<p>Your verification code is ${code}.</p><p><a href="${link}">Confirm your email address</a></p>`,
      });
      return html(
        `<form method="post" action="/confirm"><input type="hidden" name="email" value="${email}"><label>Code <input name="code"></label><button>Confirm</button></form>`,
      );
    },
  });
  return { url: server.url.href, [Symbol.asyncDispose]: () => server.stop(true) };
}
