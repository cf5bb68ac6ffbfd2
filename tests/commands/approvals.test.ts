import { afterAll, beforeAll, expect, test } from "bun:test";
import { runInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
let ada: WorldInbox;
let agentKey: string;
beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
  await world.api(`/v1/inboxes/${ada.id}`, { method: "PATCH", body: { sendPolicy: "approve_new" } });
  agentKey = (await world.api("/v1/keys", { method: "POST", body: { access: "agent" } })).body.key;
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const run = (...words: string[]) =>
  runInboxd(words, { env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey } });

/** The id of a mail that the agent asks for. */
async function asked(fields: object): Promise<string> {
  const { body } = await send(world, ada.id, fields, { apiKey: agentKey });
  expect(body).toMatchObject({ state: "awaiting_approval", reasons: ["new_recipient"] });
  return body.messageId;
}

const messageOf = async (id: string) => (await world.api(`/v1/messages/${id}`)).body;

test("a mail that waits is listed, shown as it would be sent, and sent once its shown version is approved", async () => {
  const known = { direction: "outbound", action: "allow", pattern: "jane@example.com" };
  await world.api("/v1/rules", { method: "POST", body: known });
  const from = "Jane <jane@example.com>";
  await world.deliver(mailOf({ from, subject: "Price", messageId: "1@example.com", text: "How much?" }), ada.address);
  const { body } = await world.api(`/v1/inboxes/${ada.id}/messages`);
  const [{ id: answered }] = body.data;
  const mail = { to: undefined, subject: undefined, body: "Ten euros", replyToMessageId: answered };
  const id = await asked({ ...mail, cc: "eve@example.net", bcc: ["zoe@example.net"] });

  const { stdout: list } = await run("approvals", "list", "--inbox", ada.address);
  expect(list.split("\n")[0]).toMatch(/^asked +expires +reasons +to +subject +id +version$/);
  expect(list).toMatch(
    new RegExp(
      `new_recipient +jane@example\\.com, eve@example\\.net \\(new\\), zoe@example\\.net \\(new\\) +Re: Price +${id} +1$`,
      "m",
    ),
  );
  const { stdout: shown } = await run("approvals", "show", id);
  expect(shown).toMatch(/^version +1$/m);
  expect(shown).toMatch(/^from +ada@inbox\.localhost$/m);
  expect(shown).toMatch(/^to +jane@example\.com$/m);
  expect(shown).toMatch(/^cc +eve@example\.net \(new\)$/m);
  expect(shown).toMatch(/^bcc +zoe@example\.net \(new\)$/m);
  // With its quote.
  expect(shown).toMatch(/\n\nTen euros\n[\s\S]*^> How much\?$/m);

  await world.api(`/v1/drafts/${id}`, { method: "PATCH", body: { body: "Nine euros" }, apiKey: agentKey });
  const tooOld = await run("approvals", "approve", id, "1");
  expect([tooOld.code, tooOld.stdout]).toEqual([1, ""]);
  expect(tooOld.stderr).toBe("version_mismatch: Cannot approve draft: the draft has changed and has version 2 now\n");
  expect((await run("approvals", "approve", id, "two")).code).toBe(2);
  const approved = await run("approvals", "approve", id, "2", "--json");
  expect([approved.code, JSON.parse(approved.stdout)]).toMatchObject([
    0,
    { id, state: "scheduled", approval: { decision: "approved", approvedVersion: 2 } },
  ]);
  await untilSo(async () => (await messageOf(id)).status === "sent");
  expect((await messageOf(id)).bodyText).toStartWith("Nine euros\n");
  expect((await run("approvals", "approve", id, "2")).stderr).toStartWith("draft_not_open: ");
  expect((await run("approvals", "list")).stdout).toBe("none\n");
});

test("an HTML version with other words than the text is shown too", async () => {
  const id = await asked({
    to: "kim@example.net",
    subject: "Terms",
    body: "As before",
    bodyHtml: "<p>Half the price</p>",
  });
  expect((await run("approvals", "show", id)).stdout).toEndWith(
    "\n\nAs before\n\n[HTML version, which most programs show]\n\nHalf the price\n",
  );
});

test("a mail is rejected with a reason, which the agent is told", async () => {
  const mail = { to: "joe@example.net", subject: "Offer" };
  const id = await asked(mail);
  const rejected = await run("approvals", "reject", id, "1", "--reason", "Not before Friday");
  expect(rejected).toMatchObject({ code: 0, stderr: "" });
  expect(rejected.stdout).toMatch(/^state +rejected$/m);
  const { stdout: shown } = await run("approvals", "show", id);
  expect(shown).toMatch(/^decision +rejected$/m);
  expect(shown).toMatch(/^decided by +key_\w+$/m);
  expect(shown).toMatch(/^reason +Not before Friday$/m);
  const { body } = await send(world, ada.id, mail, { apiKey: agentKey });
  expect(body).toMatchObject({ code: "draft_rejected", draftId: id, reason: "Not before Friday" });
});

test("a draft that needs no approval is not shown as one", async () => {
  const headers = { "idempotency-key": "draft" };
  const body = { to: "jane@example.com", subject: "Draft", body: "Hello" };
  const { body: draft } = await world.api(`/v1/inboxes/${ada.id}/drafts`, { method: "POST", headers, body });
  const { code, stderr } = await run("approvals", "show", draft.id);
  expect([code, stderr]).toEqual([1, "Cannot show approval: the draft needs none\n"]);
});
