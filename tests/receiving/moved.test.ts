import { afterAll, beforeAll, expect, test } from "bun:test";
import { service } from "../../src/domain/access/actor.ts";
import { unsubscribeNames } from "../../src/domain/reports/unsubscribing.ts";
import { changeAccount, deleteAccount } from "../../src/flows/account/change-account.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { exportAccount } from "../../src/flows/move/export-account.ts";
import { importAccount } from "../../src/flows/move/import-account.ts";
import { returnPathKey } from "../../src/standards/signature.ts";
import { refused } from "../mail/report/fixtures.ts";
import { approvedInbox, decide, titleOf } from "../support/approvals.ts";
import { type CellFront, cellFront, cellToken } from "../support/cells.ts";
import { failureOf } from "../support/failure.ts";
import { mailOf } from "../support/mail.ts";
import { returnPathOf, signingKey } from "../support/reported.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

const env = { SIGNING_KEY: signingKey, INGEST_TOKEN: cellToken };
const unknownUser = refused("smtp; 550 5.1.1 <jane@example.com>: User unknown", "5.1.1").replaceAll(/\r?\n/g, "\r\n");

let front: CellFront;
/** The cell from which the account moved, and the other one. */
let from: World;
let to: World;
let mover: { id: string; key: string; inboxId: string };
let neighbour: string;
/** A message that it had sent before, with its return path in the first cell, and the link of an attachment of that time. */
let sent: { id: string; returnPath: string };
let link: string;
/** The link to approve a mail of that time. */
let approval: string;

beforeAll(async () => {
  front = cellFront();
  const peers = { CELL_PEERS: `c1.example=${front.origin}` };
  from = await startWorld({ env: { ...env, ...peers, MAIL_DOMAIN: "c0.example", CELL: "00" } });
  to = await startWorld({ env: { ...env, MAIL_DOMAIN: "c1.example", CELL: "01" }, clock: from.clock });
  front.behind = to;
  const { deps } = from.service;
  const { account, apiKey: key } = await createAccount(deps, { name: "mover", plan: "developer" });
  mover = { id: account.id, key, inboxId: await newInbox(from, key, "mover") };
  neighbour = await newInbox(from, from.apiKey, "neighbour");
  const attachments = [{ filename: "a.txt", content: Buffer.from("kept").toString("base64") }];
  const { body } = await send(from, mover.inboxId, { attachments }, { apiKey: key, waits: true });
  sent = {
    id: body.messageId,
    returnPath: (await returnPathOf(body.messageId)).replace("inbox.localhost", "c0.example"),
  };
  const message = (await from.api(`/v1/messages/${sent.id}`, { apiKey: key })).body;
  const url = new URL(message.attachments[0].url);
  link = `${url.pathname}${url.search}`;

  const waiting = await approvedInbox(from, [], key);
  const draftId = await waiting.ask();
  const made = await from.api(`/v1/drafts/${draftId}/approval-link`, { method: "POST", apiKey: key });
  approval = new URL(made.body.url).pathname;

  const lines: string[] = [];
  const options = { id: "moved", version: "0.1.0", now: deps.now(), accountId: mover.id, actor: service };
  await exportAccount(deps, options, async (line) => void lines.push(line.trimEnd()));
  const refusal = (change: object) => failureOf(changeAccount(deps, service, mover.id, change));
  expect(String(await refusal({ movedTo: "c1.example" }))).toContain("suspended as moving");
  expect(String(await refusal({ suspended: "moving", movedTo: "c9.example" }))).toContain("a host of CELL_PEERS");
  await importAccount(to.service.deps, async function* () {
    yield* lines;
  });
  await changeAccount(deps, service, mover.id, { suspended: "moving", movedTo: "c1.example" });
  await untilSo(async () => (await from.api("/v1/inboxes", { apiKey: key })).status === 503);
}, 60_000);
afterAll(async () => {
  await from[Symbol.asyncDispose]();
  await to[Symbol.asyncDispose]();
  front[Symbol.dispose]();
});

const subjectsIn = async (world: World, inboxId: string, apiKey: string) => {
  const { data } = (await world.api(`/v1/inboxes/${inboxId}/messages?direction=inbound&limit=100`, { apiKey })).body;
  return data.map(({ subject }: { subject: string }) => subject).toSorted();
};

test("mail for a moved account is handed to its cell, whose answer is the answer", async () => {
  expect(await from.deliver(mailOf({ messageId: "1@x.example", subject: "First" }), "mover@c0.example")).toStartWith(
    "250",
  );
  const [message] = (await to.api(`/v1/inboxes/${mover.inboxId}/messages`, { apiKey: mover.key })).body.data;
  expect(message).toMatchObject({ subject: "First" });
  front.mode = "away";
  const second = mailOf({ messageId: "2@x.example", subject: "Second" });
  expect(await from.deliver(second, "mover@c0.example")).toStartWith("451");
  front.mode = "lost";
  expect(await from.deliver(second, "mover@c0.example")).toStartWith("451");
  front.mode = "pass";
  // One reply stands for all recipients, so the moved one has a mail of its own.
  expect(await from.deliver(second, ["mover@c0.example", "neighbour@c0.example"])).toStartWith("452 4.5.3");
  expect(await from.deliver(second, ["neighbour@c0.example", "mover@c0.example"])).toStartWith("452 4.5.3");
  for (const address of ["mover@c0.example", "neighbour@c0.example"])
    expect(await from.deliver(second, address)).toStartWith("250");
  expect(await subjectsIn(to, mover.inboxId, mover.key)).toEqual(["First", "Second"]);
  expect(await subjectsIn(from, neighbour, from.apiKey)).toEqual(["Second"]);
  const closing = { method: "PATCH", apiKey: mover.key, body: { disabled: true } };
  expect((await to.api(`/v1/inboxes/${mover.inboxId}`, closing)).status).toBe(200);
  const third = mailOf({ messageId: "3@x.example", subject: "Third" });
  expect(await from.deliver(third, "mover@c0.example")).toStartWith("550 5.2.1");
  await to.api(`/v1/inboxes/${mover.inboxId}`, { ...closing, body: { disabled: false } });
}, 60_000);

test("a report that comes to its old return path is applied where the message is", async () => {
  expect(await from.deliver(unknownUser, sent.returnPath, "")).toStartWith("250");
  const { delivery } = (await to.api(`/v1/messages/${sent.id}`, { apiKey: mover.key })).body;
  expect(delivery).toMatchObject({ state: "bounced", code: 550 });
  // The first cell has no message of this path: its account might have been deleted there.
  const { body } = await send(to, mover.inboxId, { to: "later@example.com" }, { apiKey: mover.key, waits: true });
  const path = (await returnPathOf(body.messageId)).replace("inbox.localhost", "c0.example");
  const report = unknownUser.replaceAll("jane@example.com", "later@example.com");
  expect(await from.deliver(report, path, "")).toStartWith("250");
  const later = (await to.api(`/v1/messages/${body.messageId}`, { apiKey: mover.key })).body;
  expect(later.delivery).toMatchObject({ state: "bounced" });
  const nobodys = (await returnPathOf("msg_01jpw7z1x2e9a8r5k3m0t6vqhd")).replace("inbox.localhost", "c0.example");
  expect(await from.deliver(unknownUser, nobodys, "")).toStartWith("550");
}, 60_000);

test("a link to unsubscribe from before works in the new cell", async () => {
  const token = await unsubscribeNames(await returnPathKey(signingKey), "c0.example").token(sent.id);
  const form = {
    method: "POST",
    apiKey: null,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "List-Unsubscribe=One-Click",
  };
  front.mode = "away";
  expect((await from.fetch(`/u/${token}`, form)).status).toBe(503);
  front.mode = "pass";
  expect((await from.fetch(`/u/${token}`, form)).status).toBe(200);
  const { data } = (await to.api("/v1/suppressions?reason=unsubscribe", { apiKey: mover.key })).body;
  expect(data).toMatchObject([{ address: "jane@example.com", inboxId: mover.inboxId }]);
}, 60_000);

test("mail goes around in no circle", async () => {
  const mail = mailOf({ messageId: "circle@x.example", subject: "Circle" });
  const answer = await from.fetch("/v1/inbound", {
    method: "POST",
    apiKey: cellToken,
    headers: {
      "content-type": "message/rfc822",
      "envelope-from": "jane@example.com",
      "envelope-to": "mover@c0.example",
      via: "1.1 inboxd-00, 1.1 inboxd-01",
    },
    body: mail,
  });
  expect(answer.status).toBe(404);
  expect(await subjectsIn(to, mover.inboxId, mover.key)).not.toContain("Circle");
}, 60_000);

test("the link of an attachment leads to the cell of its account", async () => {
  const first = await fetch(new URL(link, from.service.apiUrl), { redirect: "manual" });
  const location = first.headers.get("location") ?? "";
  expect([first.status, location]).toEqual([307, link.replace("cell=00", "cell=01")]);
  expect(await (await to.fetch(location, { apiKey: null })).text()).toBe("kept");
}, 60_000);

test("a link to approve leads to the cell of its account, which decides", async () => {
  const first = await fetch(new URL(approval, from.service.apiUrl), { redirect: "manual" });
  const location = first.headers.get("location") ?? "";
  expect([first.status, location]).toEqual([307, `${approval}?cell=01`]);
  const url = String(new URL(location, to.service.apiUrl));
  expect(await titleOf(url)).toEqual([200, "Approve this mail?"]);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const late = { method: "POST", apiKey: null, headers: form, body: "decision=approve&version=1" };
  expect((await from.fetch(approval, late)).status).toBe(503);
  expect((await decide(url, "approve")).status).toBe(303);
  expect(await titleOf(String(new URL(approval, to.service.apiUrl)))).toEqual([200, "Approved"]);
}, 60_000);

test("an account that is back is here, and a deleted one is nowhere", async () => {
  const { deps } = from.service;
  const back = await changeAccount(deps, service, mover.id, { suspended: null });
  expect(back.movedTo).toBeNull();
  await untilSo(async () => (await from.api("/v1/inboxes", { apiKey: mover.key })).status === 200);
  expect(await from.deliver(mailOf({ messageId: "back@x.example", subject: "Back" }), "mover@c0.example")).toStartWith(
    "250",
  );
  expect(await subjectsIn(from, mover.inboxId, mover.key)).toEqual(["Back"]);
  await changeAccount(deps, service, mover.id, { suspended: "moving", movedTo: "c1.example" });
  await deleteAccount(deps, service, mover.id, "mover");
  await untilSo(async () => (await from.deliver(mailOf(), "mover@c0.example")).startsWith("550"));
}, 60_000);
