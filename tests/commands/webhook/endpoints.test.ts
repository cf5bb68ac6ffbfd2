import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../../support/inboxd.ts";
import { answer, type Receiver, startReceiver } from "../../support/receiver.ts";
import { untilAnswered } from "../../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../../support/world.ts";

/** The account's owner on any machine, by key. The tests go on from one another. */
let world: World;
let ada: WorldInbox;
let receiver: Receiver;
/** Of the endpoint that is added first. */
let id = "";

beforeAll(async () => {
  world = await startWorld();
  receiver = await startReceiver();
  ada = await world.inbox("ada");
  await world.inbox("bob");
  await world.api("/v1/webhook", { method: "PUT", body: { url: `${receiver.url}?default` } });
});
afterAll(async () => {
  await receiver.close();
  await world[Symbol.asyncDispose]();
});

const env = () => ({ INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey });
const webhook = (...words: string[]) => runInboxd(["webhook", ...words], { env: env() });
async function made(...words: string[]) {
  const { code, stdout, stderr } = await webhook(...words, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
}
const mail = (subject: string) => world.deliver(`Subject: ${subject}\r\n\r\nHello\r\n`, ada.address);
/** What the endpoint was told, and not the default one. */
const toldDesk = () =>
  receiver.requests.filter(({ path }) => path.includes("desk")).map(({ body }) => JSON.parse(body));
const untilTold = (count: number) =>
  untilAnswered(async () => (toldDesk().length >= count ? toldDesk().slice(0, count) : undefined));

test("an endpoint is added with a subscription, and its secret is shown once", async () => {
  const words = [
    "--types",
    "message.received, message.failed",
    "--inbox",
    `ada,${ada.address}`,
    "--include",
    "extracted",
  ];
  const desk = [`${receiver.url}?desk`, "--description", "Desk", "--key", "once", ...words];
  const added = await made("add", ...desk, "--skip-automated");
  expect(added).toMatchObject({
    url: `${receiver.url}?desk`,
    description: "Desk",
    eventTypes: ["message.received", "message.failed"],
    inboxIds: [ada.id],
    skipAutomated: true,
    include: ["extracted"],
    isDefault: false,
    secret: expect.stringMatching(/^whsec_/),
  });
  id = added.id;
  const { secret: _secret, ...again } = await made("add", ...desk, "--skip-automated");
  expect([again.id, _secret]).toEqual([id, undefined]);
});

test("all endpoints are a table for a person, and whole for a script", async () => {
  const [first, desk] = await made("list");
  expect([first.isDefault, desk.id]).toEqual([true, id]);
  const { stdout } = await webhook("list");
  const [head = "", ...rows] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^url +description +types +inboxes +default +state +id$/);
  expect(rows.map((row) => row.split(/ +/).slice(-3))).toEqual([
    ["yes", "on", first.id],
    ["-", "on", id],
  ]);
  const { stdout: shown } = await webhook("show", id);
  expect(shown).toMatch(/^types +message\.received, message\.failed$/m);
  expect(shown).toMatch(new RegExp(`^inboxes +${ada.id}$`, "m"));
});

test("only the given fields change", async () => {
  const before = await made("show", id);
  const changed = await made("change", id, "--types", "*", "--all-inboxes", "--no-skip-automated", "--no-description");
  const different = { eventTypes: ["*"], inboxIds: null, skipAutomated: false, description: null };
  expect(changed).toEqual({ ...before, ...different });
  const disabled = await made("change", id, "--disable", "--include", "none");
  expect(disabled).toMatchObject({ include: [], disabledReason: "manual", eventTypes: ["*"] });
  expect((await webhook("list")).stdout).toMatch(new RegExp(`off: manual +${id}$`, "m"));
  expect(
    await made("change", id, "--enable", "--to", `${receiver.url}?desk2`, "--types", "message.received"),
  ).toMatchObject({
    url: `${receiver.url}?desk2`,
    disabledAt: null,
    include: [],
    eventTypes: ["message.received"],
  });
  const withFields = await made("change", id, "--header", "X-Gateway-Key: 4711", "--header", "X-Team:desk");
  expect(withFields.headers).toEqual(["X-Gateway-Key", "X-Team"]);
  expect((await made("change", id, "--no-header")).headers).toEqual([]);
  expect((await webhook("change", id, "--header", "nothing")).code).toBe(2);
  expect(await made("set", `${receiver.url}?desk`, id)).toMatchObject({ id, url: `${receiver.url}?desk` });
  const { stdout } = await webhook("set", `${receiver.url}?desk`, id);
  expect(stdout).toMatch(new RegExp(`inboxd webhook rotate ${id} makes a new one$`, "m"));
});

test("with its id it is tested, and gets a new secret", async () => {
  expect(await made("test", id)).toMatchObject({ delivered: true, status: 200 });
  expect(toldDesk()).toMatchObject([{ event: "webhook.test" }]);
  const { secret } = await made("rotate", id, "--overlap-seconds", "0");
  expect((await made("show", id)).secretLast4).toBe(secret.slice(-4));
  receiver.behave(answer(500));
  expect((await webhook("test", id)).code).toBe(1);
  receiver.behave(answer(200));
});

test("its deliveries are listed, newest first, by state and in pages", async () => {
  await mail("one");
  await mail("two");
  const [, , one, two] = await untilTold(4);
  const delivered = await untilAnswered(async () => {
    const page = await made("deliveries", id, "--state", "delivered");
    return page.data.length === 2 ? page : undefined;
  });
  expect(delivered).toMatchObject({ data: [{ event_id: two.event_id }, { event_id: one.event_id }], nextCursor: null });
  const { stdout, stderr } = await webhook("deliveries", id, "--limit", "1");
  expect(stdout).toMatch(/^event +state +attempts +last +status +error +next +id\n/);
  expect(stdout).toMatch(new RegExp(`^message\\.received +delivered +1 +\\S.*? +200 +- +- +${two.event_id}$`, "m"));
  const [, cursor = ""] = /^There is more: --cursor (\S+)\n$/.exec(stderr) ?? [];
  expect((await made("deliveries", id, "--limit", "1", "--cursor", cursor)).data).toMatchObject([
    { event_id: one.event_id },
  ]);
});

test("an event is delivered again, and missed events are recovered in order", async () => {
  const [, , one] = await untilTold(4);
  expect(await made("redeliver", one.event_id, id)).toEqual({ event: one.event_id, webhookId: id, status: "queued" });
  expect((await untilTold(5)).at(-1)).toMatchObject({ event_id: one.event_id, attempt: 2 });

  await made("change", id, "--disable");
  await mail("three");
  await mail("four");
  const none = await webhook("recover", id, "--after", "start");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("the webhook is disabled")]);
  await made("change", id, "--enable");
  await world.fetch("/v1/events");
  const recovered = await untilAnswered(async () => {
    const { queued, hasMore, last } = await made("recover", id, "--after", "start");
    return queued > 0 || !hasMore ? { queued, last } : undefined;
  });
  expect(recovered).toEqual({ queued: 2, last: expect.stringMatching(/^evt_/) });
  const subjects = (await untilTold(7)).slice(5).map(({ message }) => message.subject);
  expect(subjects).toEqual(["three", "four"]);
});

test("it is removed by either command, and is then unknown", async () => {
  expect(await made("remove", id)).toEqual({ id, url: `${receiver.url}?desk`, deleted: true });
  const { id: another } = await made("add", receiver.url);
  expect(await made("delete", another)).toMatchObject({ id: another, deleted: true });
  for (const words of [
    ["show", id],
    ["test", id],
    ["remove", id],
    ["deliveries", id],
    ["change", id, "--enable"],
  ]) {
    const { code, stdout, stderr } = await webhook(...words);
    expect([code, stdout, stderr]).toEqual([1, "", "not_found: Cannot find webhook: no such webhook\n"]);
  }
});

const endpoint = "whk_01jpw7z1x2e9a8r5k3m0t6vqhd";
const wrong: readonly [what: string, words: string[], says: RegExp][] = [
  ["an address that is none", ["add", "ftp://x.example"], /It must start with https/],
  ["a type that there is not", ["add", "https://hooks.example/", "--types", "mail.eaten"], /^validation_error: /],
  ["a change of nothing", ["change", endpoint], /^Cannot change webhook: no option says what to change/],
  ["on and off at once", ["change", endpoint, "--enable", "--disable"], /cannot be used with option/],
  ["a recovery from nowhere", ["recover", endpoint], /required option '--after <position>'/],
  ["an account beside an endpoint", ["show", endpoint, "--account", "acme"], /^Cannot use --account with the id/],
  ["a state of an event", ["deliveries", "evt_0", "--state", "failed"], /^Cannot use --state, --limit or --cursor/],
  ["a number that is none", ["deliveries", endpoint, "--limit", "many"], /--limit must be a whole number/],
];

test.concurrent.each(wrong)("%s is wrong usage", async (_, words, says) => {
  const { code, stdout, stderr } = await webhook(...words);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(says);
});

test("a command on endpoints needs a key", async () => {
  const { code, stderr } = await runInboxd(["webhook", "list"], { env: {} });
  expect([code, stderr]).toEqual([2, "Cannot ask the server: no API key: set INBOXD_API_KEY, or give --api-key\n"]);
});
