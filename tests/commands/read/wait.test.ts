import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../../support/inboxd.ts";
import { mailOf } from "../../support/mail.ts";
import { readMetrics } from "../../support/metrics.ts";
import { untilAnswered } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { METRICS_PORT: "0" } });
});
afterAll(() => world[Symbol.asyncDispose]());

const env = () => ({ INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey });
const run = (...words: string[]) => runInboxd(["wait", ...words], { env: env() });

test("a mail that comes is printed, and the command ends with 0", async () => {
  const inbox = await world.inbox("printed");
  const finished = run("printed", "--from", "jane@example.com", "--subject", "ORDER", "--timeout", "60");
  await untilAnswered(async () =>
    (await readMetrics(world)).get('inboxd_listeners{kind="wait"}') === 1 ? true : undefined,
  );
  await world.deliver(mailOf({ subject: "Your order", text: "Where is it?\r\n" }), inbox.address);
  const { code, stdout, stderr } = await finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^subject +Your order$/m);
  expect(stdout).toEndWith("\n\nWhere is it?\n");
});

test("without a mail it ends with 1, and prints the option for the next wait", async () => {
  const inbox = await world.inbox("queue");
  const empty = await run(inbox.address, "--timeout", "0");
  expect([empty.code, empty.stdout]).toEqual([1, ""]);
  const [, place = ""] = /^No mail came in time: go on with --after (\S+)\n$/.exec(empty.stderr) ?? [];
  for (const subject of ["One", "Two"]) await world.deliver(mailOf({ subject }), inbox.address);
  const one = await run("queue", "--after", place, "--json");
  const { message, cursor } = JSON.parse(one.stdout);
  expect([one.code, message.subject]).toEqual([0, "One"]);
  const two = await run("queue", "--after", cursor, "--json");
  expect(JSON.parse(two.stdout).message.subject).toBe("Two");
  const none = await run("queue", "--after", JSON.parse(two.stdout).cursor, "--timeout", "1", "--json");
  expect(none.code).toBe(1);
  expect(JSON.parse(none.stdout).message).toBeNull();
});

test("it takes older mail since an instant, and mail of one thread alone", async () => {
  const inbox = await world.inbox("since");
  const before = world.clock.now().toISOString();
  await world.deliver(mailOf({ subject: "Early", messageId: "early@example.com" }), inbox.address);
  world.clock.pass(3_600_000);
  expect((await run("since", "--timeout", "0")).code).toBe(1);
  const early = JSON.parse((await run("since", "--timeout", "0", "--since", before, "--json")).stdout);
  expect(early.message.subject).toBe("Early");
  await world.deliver(mailOf({ subject: "Other", messageId: "other@example.com" }), inbox.address);
  const answer = { subject: "Re: Early", messageId: "answer@example.com", inReplyTo: "early@example.com" };
  await world.deliver(mailOf(answer), inbox.address);
  await world.deliver(mailOf({ subject: "Last", messageId: "last@example.com" }), inbox.address);
  const ofThread = JSON.parse(
    (await run("since", "--timeout", "0", "--thread", early.message.threadId, "--json")).stdout,
  );
  expect(ofThread.message.subject).toBe("Re: Early");
  const both = await run("since", "--timeout", "0", "--since", before, "--after", early.cursor);
  expect([both.code, both.stdout]).toEqual([2, ""]);
});

test("any other failure ends it with 2, so that a script does not repeat it in vain", async () => {
  const inbox = await world.inbox("ended");
  const unknown = await run("nobody@inbox.localhost", "--timeout", "0");
  expect([unknown.code, unknown.stdout]).toEqual([2, ""]);
  expect(unknown.stderr).not.toBe("");
  const words = ["wait", inbox.address, "--timeout", "0"];
  const url = world.service.apiUrl.origin;
  for (const env of [
    { INBOXD_URL: url, INBOXD_API_KEY: "ibx_revoked" },
    { INBOXD_URL: "http://127.0.0.1:1", INBOXD_API_KEY: world.apiKey },
  ])
    expect([env, (await runInboxd(words, { env })).code]).toEqual([env, 2]);
  expect((await run(inbox.address, "--timeout", "soon")).code).toBe(2);
});

test("a code or a link is printed alone, and the wait continues after an early answer", async () => {
  const asked: URLSearchParams[] = [];
  const message = {
    id: "msg_1",
    codes: [{ code: "482913" }, { code: "1" }],
    links: [
      { url: "https://example.com/", kind: null },
      { url: "https://example.com/leave", kind: "unsubscribe" },
      { url: "https://example.com/verify", kind: "verify" },
    ],
  };
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      asked.push(new URL(request.url).searchParams);
      return Response.json({ message: asked.length % 2 === 0 ? message : null, cursor: "place" });
    },
  });
  const there = { INBOXD_URL: server.url.origin, INBOXD_API_KEY: "k" };
  const inbox = "inb_01jpw7z1x2e9a8r5k3m0t6vqhd";
  const wait = (...words: string[]) => runInboxd(["wait", inbox, ...words], { env: there });
  expect(await wait("--code", "--has", "attachment")).toEqual({ code: 0, stdout: "482913\n", stderr: "" });
  expect(await wait("--link")).toEqual({ code: 0, stdout: "https://example.com/verify\n", stderr: "" });
  await server.stop(true);
  expect(asked.map((query) => [query.get("has"), query.get("after")])).toEqual([
    ["attachment,code", null],
    ["attachment,code", "place"],
    ["link", null],
    ["link", "place"],
  ]);
});

const wrong: readonly [what: string, words: string[], says: RegExp][] = [
  ["a time that is none", ["--timeout", "soon"], /^Cannot wait: --timeout must be a whole number/],
  ["a code and a link at once", ["--code", "--link"], /cannot be used with option/],
  ["what a mail can't have", ["--has", "money"], /^invalid_query: /],
];
test.each(wrong)("%s is refused", async (_, words, says) => {
  await world.api("/v1/inboxes", { method: "POST", body: { username: "careless" } });
  const { code, stdout, stderr } = await run("careless", ...words);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(says);
});
