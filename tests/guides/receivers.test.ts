import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf } from "../support/documentation.ts";
import { haveForeignTools, howToInstall } from "../support/foreign-tools.ts";
import { type SdkProject, sdkProject } from "../support/sdk-project.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

const blocks = blocksOf(readFileSync(join(import.meta.dir, "../../docs/receivers.md"), "utf8"));
const blockWith = (text: string) => blocks.find((block) => block.text.includes(text))?.text ?? expect.unreachable();

const areInstalled = haveForeignTools();
if (!areInstalled) console.log(`Skipped: the receivers of the guide, whose packages are not here; ${howToInstall}`);
const hasFastApi =
  Bun.which("python3") !== null && Bun.spawnSync(["python3", "-c", "import fastapi, uvicorn"]).exitCode === 0;
if (!hasFastApi) console.log("Skipped: the receiver in FastAPI, since python3 has no fastapi and uvicorn here");

/** Programs that serve the receivers of the guide and print their port. */
const servers = {
  "Next.js": {
    text: blockWith("export async function POST"),
    file: "next.ts",
    serving: 'import { POST } from "./next.ts";\nconsole.log(Bun.serve({ port: 0, fetch: POST }).port);',
  },
  Express: {
    text: blockWith('from "express"'),
    file: "express-app.ts",
    serving:
      'import { app } from "./express-app.ts";\nconst server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));',
  },
  Hono: {
    text: blockWith('from "hono"'),
    file: "hono-app.ts",
    serving: 'import { app } from "./hono-app.ts";\nconsole.log(Bun.serve({ port: 0, fetch: app.fetch }).port);',
  },
};

let world: World;
let project: SdkProject;
beforeAll(async () => {
  if (areInstalled) project = sdkProject(["express", "@types/express", "hono"]);
  // Receivers compare the time of a delivery with the clock of the machine.
  world = await startWorld({ machineAheadMs: 0 });
}, 60_000);
afterAll(async () => {
  project?.[Symbol.dispose]();
  await world?.[Symbol.asyncDispose]();
});

test.skipIf(!areInstalled)(
  "The receivers in TypeScript are what a strict compiler takes",
  async () => {
    for (const { file, text } of Object.values(servers)) project.write(file, text);
    expect(await project.compiled()).toBe("");
    project.write("wrong.ts", servers.Hono.text.replace("event.event_id", "event.event_ids"));
    expect(await project.compiled()).toContain("error TS");
  },
  60_000,
);

describe.each(Object.entries(servers))("The receiver in %s", (_, { text, file, serving }) => {
  test.skipIf(!areInstalled)(
    "takes our deliveries and no others",
    async () => {
      project.write(file, text);
      project.write(`serve-${file}`, serving);
      await expectReceives([process.execPath, join(project.directory, `serve-${file}`)], async (child) => {
        const { value } = await child.stdout.getReader().read();
        return Number(new TextDecoder().decode(value));
      });
    },
    60_000,
  );
});

test.skipIf(!hasFastApi)(
  "The receiver in FastAPI takes our deliveries and no others",
  async () => {
    await using probe = Bun.serve({ port: 0, fetch: () => new Response() });
    const port = probe.port ?? 0;
    await probe.stop(true);
    const program = `${blockWith("from fastapi")}\nimport uvicorn\nuvicorn.run(app, port=${port}, log_level="error")\n`;
    await expectReceives(["python3", "-c", program], async () => {
      await untilAnswered(() =>
        fetch(`http://127.0.0.1:${port}/`).then(
          () => true,
          () => undefined,
        ),
      );
      return port;
    });
  },
  60_000,
);

type Child = Bun.Subprocess<"ignore", "pipe", "inherit">;

/** Starts the receiver with the secret of an endpoint, and delivers to it: a test, a mail, and a forgery. */
async function expectReceives(command: string[], portOf: (child: Child) => Promise<number>): Promise<void> {
  const made = await world.api("/v1/webhooks", { method: "POST", body: { url: "http://127.0.0.1:8080/hooks/inboxd" } });
  expect(made.body).toMatchObject({ eventTypes: ["message.received"] });
  const env = { PATH: process.env.PATH, PYTHONUNBUFFERED: "1", INBOXD_WEBHOOK_SECRET: made.body.secret };
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "inherit" });
  try {
    const url = `http://127.0.0.1:${await portOf(child)}/hooks/inboxd`;
    await world.api(`/v1/webhooks/${made.body.id}`, { method: "PATCH", body: { url } });
    const tested = await world.api(`/v1/webhooks/${made.body.id}/test`, { method: "POST" });
    expect(tested.body).toMatchObject({ delivered: true, status: 200 });
    expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
    const stale = { "webhook-id": "evt_1", "webhook-timestamp": "1", "webhook-signature": "v1,AA==" };
    expect((await fetch(url, { method: "POST", body: "{}", headers: stale })).status).toBe(401);
  } finally {
    child.kill();
    await world.api(`/v1/webhooks/${made.body.id}`, { method: "DELETE" });
  }
}
