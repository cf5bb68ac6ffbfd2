import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDatabase } from "../../support/database.ts";
import { type RunningInboxd, type RunOptions, runInboxd, startInboxd } from "../../support/inboxd.ts";
import { greeted } from "../../support/raw-smtp.ts";
import { answer, type Receiver, startReceiver } from "../../support/receiver.ts";

/** An operator beside a service that runs. The tests go on from one another. */
const directory = mkdtempSync(join(tmpdir(), "ibx-webhook-events-"));
const server = process.env.TEST_DATABASE_URL;
const database = server ? await makeDatabase(server) : undefined;
const here: RunOptions = { cwd: directory, env: { DATABASE_URL: database?.url } };
let inboxd: RunningInboxd;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  inboxd = await startInboxd(here);
});
afterAll(async () => {
  inboxd.signal("SIGKILL");
  await inboxd.exited;
  await receiver.close();
  await database?.drop();
  rmSync(directory, { recursive: true });
});

const webhook = (...words: string[]) => runInboxd(["webhook", ...words], here);
const made = async (...words: string[]) => JSON.parse((await webhook(...words, "--json")).stdout);

test("without an address there is nothing to test, to redeliver or to delete", async () => {
  const all = await Promise.all([webhook("test"), webhook("delete")]);
  expect(all.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
    [1, "", "Cannot test webhook: no webhook URL is set\n"],
    [1, "", "Cannot delete webhook: no webhook URL is set\n"],
  ]);
});

test("a test delivers one signed event, and its exit code shows whether it arrived", async () => {
  await webhook("set", receiver.url);
  expect(await made("test")).toMatchObject({ delivered: true, status: 200, error: null });
  const { body, headers } = await receiver.request(1);
  expect(JSON.parse(body).event).toBe("webhook.test");
  expect(headers["x-signature"]).toMatch(/^[0-9a-f]{64}$/);
  receiver.behave(answer(500));
  const { code, stdout } = await webhook("test");
  expect([code, stdout]).toEqual([1, expect.stringMatching(/^delivered +false\nstatus +500\n/)]);
});

test("an event's attempts are listed, and it is delivered once more when asked for", async () => {
  receiver.behave(answer(200));
  await inboxd.request("POST", "/v1/inboxes", { username: "ada" });
  const mail = await greeted(inboxd.smtpPort);
  for (const line of ["EHLO x", "MAIL FROM:<jane@example.com>", "RCPT TO:<ada@inbox.localhost>", "DATA"])
    await mail.ask(line);
  expect(await mail.ask("Subject: Hi\r\n\r\nHello\r\n.")).toStartWith("250");
  await mail.ask("QUIT");

  const first = JSON.parse((await receiver.request(3)).body);
  expect(first).toMatchObject({ event: "message.received", attempt: 1 });
  const event: string = first.event_id;
  expect(await made("redeliver", event)).toEqual({ event, status: "queued" });
  expect(JSON.parse((await receiver.request(4)).body)).toMatchObject({ event_id: event, attempt: 2 });

  // An attempt is written down once its answer is in.
  let deliveries: { attempt: number; status: number }[] = [];
  while (deliveries.length < 2) deliveries = await made("deliveries", event);
  expect(deliveries).toMatchObject([1, 2].map((attempt) => ({ attempt, status: 200, error: null })));
  expect((await made("show")).lastDelivery).toMatchObject({ event_id: event, status: 200, error: null });
  expect((await webhook("show")).stdout).toMatch(
    new RegExp(`^lastDelivery +\\d+ \\w{3} .*: delivered, ${event}$`, "m"),
  );
  const { stdout } = await webhook("deliveries", event);
  expect(stdout).toMatch(/^attempt +time +status +ms +error\n1 +\S.*? +200 +\d+ +-\n2 +\S.*? +200 +\d+ +-\n$/);
});

test("another account's events are as unknown as none", async () => {
  const { event_id: event } = JSON.parse((await receiver.request(3)).body);
  await runInboxd(["account", "create", "acme"], here);
  const acme = ["--account", "acme"];
  const all = await Promise.all([
    webhook("deliveries", event, ...acme),
    webhook("redeliver", event, ...acme),
    webhook("deliveries", "evt_0"),
  ]);
  for (const { code, stdout, stderr } of all)
    expect([code, stdout, stderr]).toEqual([1, "", "Cannot find event: no such event\n"]);
});

test("a webhook is deleted with its secret, and its address is printed", async () => {
  expect(await made("delete")).toEqual({ url: receiver.url, deleted: true });
  const nothing = { url: null, secretLast4: null, createdAt: null, disabledAt: null, lastDelivery: null };
  expect(await made("show")).toEqual(nothing);
  expect((await webhook("delete")).code).toBe(1);
  expect((await made("set", receiver.url)).secret).toStartWith("whsec_");
});
