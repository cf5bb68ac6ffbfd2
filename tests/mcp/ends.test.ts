import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDatabase } from "../support/database.ts";
import { failureOf } from "../support/failure.ts";
import { startInboxd } from "../support/inboxd.ts";
import { overHttp } from "../support/mcp.ts";
import { readMetrics } from "../support/metrics.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld } from "../support/world.ts";

test("a call that is repeated after its server was killed behind the commit sends one mail", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-mcp-"));
  const server = process.env.TEST_DATABASE_URL;
  const database = server ? await makeDatabase(server) : undefined;
  // A relay that never says whether it took the mail: the answer to the call waits for it.
  const relay = await scriptedSmtp({ answer: (command) => (command === "DATA" ? "silence" : undefined) });
  const env = {
    DATA_DIR: dataDir,
    API_KEY: "key-of-the-first-account-in-tests",
    DATABASE_URL: database?.url,
    OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
    SEND_WAIT_MS: "30000",
  };
  try {
    const first = await startInboxd({ env });
    const { id } = await (await first.request("POST", "/v1/inboxes", { username: "ada" })).json();
    const mail = { inbox: "ada", to: "bob@example.com", subject: "Hi", body: "Hello Bob" };
    const call = first.request("POST", "/mcp", calling("send_email", mail)).catch(() => undefined);
    const outbound = async (running: typeof first) =>
      (await (await running.request("GET", `/v1/inboxes/${id}/messages?direction=outbound`)).json()).data;
    await untilAnswered(async () => ((await outbound(first)).length === 0 ? undefined : true));
    first.signal("SIGKILL");
    await Promise.all([first.exited, call]);

    const second = await startInboxd({ env });
    const again = await (await second.request("POST", "/mcp", calling("send_email", mail))).json();
    expect(again.result.structuredContent).toMatchObject({ replayed: true, hint: expect.any(String) });
    const sent = await outbound(second);
    expect(sent.map((message: { id: string }) => message.id)).toEqual([again.result.structuredContent.messageId]);
    second.signal("SIGKILL");
    await second.exited;
  } finally {
    await relay.close();
    await database?.drop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 60_000);

function calling(name: string, args: object, meta: object = {}) {
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, ...meta } };
}

test("a wait ends when its client cancels it or hangs up", async () => {
  await using world = await startWorld({ env: { METRICS_PORT: "0" } });
  await world.inbox("ada");
  const untilWaiting = (count: number) =>
    untilAnswered(async () =>
      (await readMetrics(world)).get('inboxd_listeners{kind="wait"}') === count ? true : undefined,
    );
  const waiting = { inbox: "ada", timeout: 50 };
  {
    await using model = await overHttp(world);
    const leaving = new AbortController();
    const call = model.client.callTool({ name: "wait_for_message", arguments: waiting }, { signal: leaving.signal });
    await untilWaiting(1);
    leaving.abort();
    expect(await failureOf(call)).toBeInstanceOf(Error);
    await untilWaiting(0);
  }
  // With a token of progress the answer is a stream.
  for (const meta of [{}, { _meta: { progressToken: 7 } }]) {
    const leaving = new AbortController();
    const call = fetch(new URL("/mcp", world.service.apiUrl), {
      method: "POST",
      signal: leaving.signal,
      headers: {
        authorization: `Bearer ${world.apiKey}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(calling("wait_for_message", waiting, meta)),
    }).then((response) => response.text());
    await untilWaiting(1);
    leaving.abort();
    expect(await failureOf(call)).toBeInstanceOf(Error);
    await untilWaiting(0);
  }
}, 30_000);
