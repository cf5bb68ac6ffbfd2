import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { approvalEnv, approvedInbox, boss, cfo, decide, letterNumber, titleOf } from "../support/approvals.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newAccount } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const hourMs = 3_600_000;

describe.each(enginesHere())("The link of an approval (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;
  let relay: ScriptedSmtp;

  beforeAll(async () => {
    relay = await scriptedSmtp();
    world = await startWorld({ env: { ...approvalEnv, OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` } });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await relay.close();
  });

  const draft = async (id: string) => (await world.api(`/v1/drafts/${id}`)).body;
  const linkFor = (id: string, apiKey = world.apiKey) =>
    world.api(`/v1/drafts/${id}/approval-link`, { method: "POST", apiKey });
  const patch = (id: string, body: object, apiKey = world.apiKey) =>
    world.api(`/v1/drafts/${id}`, { method: "PATCH", body, apiKey });
  /** The only link in the last letter to an approver who got no other one yet. */
  let approvers = 0;
  async function newApprover(): Promise<string> {
    approvers += 1;
    return `boss${approvers}@example.org`;
  }

  test("changes nothing when it is opened, and has the headers of its page", async () => {
    const approver = await newApprover();
    const { ask } = await approvedInbox(world, [approver]);
    const id = await ask({ subject: "<b>Offer</b>", body: "Hello <script>alert(1)</script>" });
    const [url = ""] = (await letterNumber(relay, 1, approver)).links;
    const before = await draft(id);
    for (let time = 0; time < 40; time += 1)
      expect((await fetch(url, { method: time % 2 ? "HEAD" : "GET" })).status).toBe(200);
    expect(await draft(id)).toEqual(before);
    const page = await fetch(url);
    const text = await page.text();
    const headers = Object.fromEntries(page.headers);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
    });
    expect(headers["content-security-policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; form-action 'self'; frame-ancestors 'none'$/,
    );
    expect(text).toContain("&lt;b&gt;Offer&lt;/b&gt;");
    expect(text).toContain("Hello &lt;script&gt;alert(1)&lt;/script&gt;");
    expect(text).not.toContain("<script");
  });

  test("approves, and the mail is sent once", async () => {
    const [approver, other] = [await newApprover(), await newApprover()];
    const { ask, inboxId } = await approvedInbox(world, [approver, other]);
    const id = await ask({ to: "approved@example.com", subject: "Approved" });
    const [url = ""] = (await letterNumber(relay, 1, approver)).links;
    const [otherUrl = ""] = (await letterNumber(relay, 1, other)).links;
    const decided = await decide(url, "approve");
    expect([decided.status, decided.headers.get("location")]).toEqual([303, url.split("/approve/")[1] ?? ""]);
    await untilSo(async () => (await draft(id)).state === "sent");
    expect((await draft(id)).approval).toMatchObject({ decision: "approved", decidedBy: { address: approver } });
    // The other one is late, and sees by whom it was decided.
    expect((await decide(otherUrl, "reject")).status).toBe(303);
    expect(await titleOf(otherUrl)).toEqual([200, "Approved"]);
    expect(await (await fetch(otherUrl)).text()).toContain(`${approver} approved this mail`);
    await untilSo(() => relay.mails.some(({ to }) => to === "approved@example.com"));
    expect(relay.mails.filter(({ to }) => to === "approved@example.com")).toHaveLength(1);
    const { body: audit } = await world.api("/v1/audit?action=draft.approved");
    expect(audit.data[0]).toMatchObject({ actor: { type: "approver", id: approver }, target: { id } });
    expect((await world.api(`/v1/inboxes/${inboxId}/messages`)).body.total).toBe(1);
  });

  test("rejects with a reason, which its page then shows", async () => {
    const approver = await newApprover();
    const { ask } = await approvedInbox(world, [approver]);
    const id = await ask();
    const [url = ""] = (await letterNumber(relay, 1, approver)).links;
    expect((await decide(url, "reject", { reason: "x".repeat(501) })).status).toBe(400);
    expect((await draft(id)).state).toBe("awaiting_approval");
    expect((await decide(url, "reject", { reason: "Too <early>" })).status).toBe(303);
    expect((await draft(id)).approval).toMatchObject({ decision: "rejected", reason: "Too <early>" });
    expect(await titleOf(url)).toEqual([200, "Rejected"]);
    const text = await (await fetch(url)).text();
    expect(text).toContain("Too &lt;early&gt;");
    expect(text).not.toContain("<button");
  });

  test("of two people at once lets one decide", async () => {
    const pair = [await newApprover(), await newApprover()];
    const { ask } = await approvedInbox(world, pair);
    const id = await ask({ to: "race@example.com" });
    const urls = await Promise.all(pair.map(async (each) => (await letterNumber(relay, 1, each)).links[0] ?? ""));
    const answers = await Promise.all([decide(urls[0] ?? "", "approve"), decide(urls[1] ?? "", "reject")]);
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    const { approval } = await draft(id);
    expect(["approved", "rejected"]).toContain(approval.decision);
    expect(approval.decidedBy).toEqual({ address: approval.decision === "approved" ? pair[0] : pair[1] });
    expect(await titleOf(urls[0] ?? "")).toEqual(await titleOf(urls[1] ?? ""));
  });

  test("of a version that was changed since decides nothing", async () => {
    const approver = await newApprover();
    const { ask, agentKey } = await approvedInbox(world, [approver]);
    const id = await ask();
    const [url = ""] = (await letterNumber(relay, 1, approver)).links;
    expect((await patch(id, { body: "Another text" }, agentKey)).status).toBe(200);
    expect(await titleOf(url)).toEqual([200, "This mail was changed"]);
    expect(await (await fetch(url)).text()).not.toContain("<button");
    for (const version of [1, 2]) expect((await decide(url, "approve", { version })).status).toBe(303);
    expect((await draft(id)).state).toBe("awaiting_approval");
    // The next letter has the new version.
    world.clock.pass(61_000);
    const [next = ""] = (await letterNumber(relay, 2, approver)).links;
    expect((await decide(next, "approve", { version: 2 })).status).toBe(303);
    await untilSo(async () => (await draft(id)).state === "sent");
  });

  test.each([
    ["a form without a decision", "version=1"],
    ["another decision", "decision=send&version=1"],
    ["a form without a version", "decision=approve"],
    ["a version that is no number", "decision=approve&version=1e0"],
    ["an empty form", ""],
  ])("takes no %s", async (_, body) => {
    const { ask } = await approvedInbox(world, []);
    const id = await ask();
    const { url } = (await linkFor(id)).body;
    const answer = await fetch(url, { method: "POST", body, redirect: "manual" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
    expect((await draft(id)).state).toBe("awaiting_approval");
  });

  test("is refused for a wrong token, for one that is over, and for somebody who approves no more", async () => {
    const approver = await newApprover();
    const { ask, inboxId } = await approvedInbox(world, [approver]);
    const id = await ask();
    const [url = ""] = (await letterNumber(relay, 1, approver)).links;
    const token = url.split("/approve/")[1] ?? "";
    const [claims = "", signature = ""] = token.split(".");
    const changedClaims = Buffer.from(claims, "base64url").toString().replace('"version":1', '"version":2');
    const forged = [
      `${claims}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`,
      `${Buffer.from(changedClaims).toString("base64url")}.${signature}`,
      claims,
      `${claims}.`,
      "x",
      "%00",
      "%ff",
      `${"A".repeat(2000)}.${signature}`,
    ];
    const base = new URL("/approve/", world.service.apiUrl);
    const pages = new Set<string>();
    for (const each of forged) {
      for (const method of ["GET", "POST"]) {
        const body = new URLSearchParams({ decision: "approve", version: "1" });
        const answer = await fetch(`${base}${each}`, {
          method,
          redirect: "manual",
          ...(method === "POST" && { body }),
        });
        expect([each, answer.status]).toEqual([each, 403]);
        pages.add(await answer.text());
      }
    }
    for (const cut of ["", `${token}/`, `${token}/x`]) {
      const answer = await fetch(`${base}${cut}`);
      expect([cut, answer.status]).toEqual([cut, 403]);
      pages.add(await answer.text());
    }
    expect(pages.size).toBe(1);

    await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { approvers: [cfo] } });
    expect((await fetch(url)).status).toBe(403);
    expect((await decide(url, "approve")).status).toBe(403);
    await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { approvers: [approver.toUpperCase()] } });
    expect((await fetch(url)).status).toBe(200);
    world.clock.pass(73 * hourMs);
    expect((await fetch(url)).status).toBe(403);
    expect((await decide(url, "approve")).status).toBe(403);
    await untilSo(async () => (await draft(id)).state === "expired");
  });

  test("is made for a key with access `full`, but not for the one that made the draft, and ends with it", async () => {
    const { ask, agentKey, inboxId } = await approvedInbox(world, []);
    const id = await ask();
    expect((await linkFor(id, agentKey)).body).toMatchObject({ status: 403, code: "forbidden" });
    const { body: key } = await world.api("/v1/keys", { method: "POST", body: {} });
    const made = await linkFor(id, key.key);
    expect([made.status, made.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(made.body.expiresAt).toBe((await draft(id)).approval.expiresAt);
    const { url } = made.body;
    expect(await titleOf(url)).toEqual([200, "Approve this mail?"]);
    await world.api(`/v1/keys/${key.id}`, { method: "DELETE" });
    expect((await fetch(url)).status).toBe(403);

    const own = await world.api(`/v1/inboxes/${inboxId}/send`, {
      method: "POST",
      body: { to: "own@example.com", subject: "Own", body: "Own" },
      headers: { "idempotency-key": "own" },
    });
    expect(own.body.state).toBe("awaiting_approval");
    const refused = await linkFor(own.body.messageId);
    expect(refused).toMatchObject({ status: 403, body: { code: "approval_forbidden" } });
    expect((await linkFor(own.body.messageId, await newAccount(world))).status).toBe(404);

    const again = (await linkFor(id)).body.url;
    expect((await decide(again, "approve")).status).toBe(303);
    await untilSo(async () => (await draft(id)).state === "sent");
    expect(await (await fetch(again)).text()).toMatch(/The holder of the key key_[0-9a-z]+ approved this mail/);
    expect(await linkFor(id)).toMatchObject({ status: 409, body: { code: "draft_not_open", state: "sent" } });
  });

  test("is in no log, and in no answer but its own", async () => {
    const approver = await newApprover();
    const { ask, inboxId, agentKey } = await approvedInbox(world, [approver]);
    const id = await ask();
    const [url = ""] = (await letterNumber(relay, 1, approver)).links;
    await decide(url, "approve");
    await untilSo(async () => (await draft(id)).state === "sent");
    const paths = [
      "/v1/events?types=*",
      "/v1/audit",
      "/v1/outbox",
      `/v1/drafts/${id}`,
      `/v1/messages/${id}`,
      `/v1/inboxes/${inboxId}/messages`,
    ];
    for (const path of paths) {
      for (const apiKey of [agentKey, world.apiKey])
        expect(JSON.stringify((await world.api(path, { apiKey })).body)).not.toContain("/approve/");
    }
    expect(JSON.stringify(world.log)).not.toContain(url.split("/approve/")[1] ?? "/approve/");
    expect(JSON.stringify(world.log)).not.toContain(approver);
  });

  test("shows the sender that the mail will have, also of an answer from an alias", async () => {
    const approver = await newApprover();
    const { ask, inboxId } = await approvedInbox(world, [approver]);
    const { body: inbox } = await world.api(`/v1/inboxes/${inboxId}/aliases/sales`, { method: "PUT" });
    await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { displayName: "Sales" } });
    await world.deliver(mailOf({ subject: "Question" }), inbox.aliases[0]);
    const [{ id: replyToMessageId }] = (await world.api(`/v1/inboxes/${inboxId}/messages`)).body.data;
    const id = await ask({ to: undefined, subject: undefined, replyToMessageId });
    expect((await letterNumber(relay, 1, approver)).text).toContain("From: Sales <sales@inbox.localhost>");
    const text = await (await fetch((await linkFor(id)).body.url)).text();
    expect(text).toContain("<dt>From</dt><dd><span>Sales &lt;sales@inbox.localhost&gt;</span></dd>");
  });

  test("has the files of the mail, and marks new recipients", async () => {
    const { ask } = await approvedInbox(world, []);
    const attachments = [{ filename: "a<b>.txt", content: Buffer.from("the file").toString("base64") }];
    const id = await ask({ to: ["new@example.net"], bcc: [boss], attachments, bodyHtml: "<p>Another <i>text</i></p>" });
    const text = await (await fetch((await linkFor(id)).body.url)).text();
    expect(text).toMatch(/new@example\.net <mark>/);
    const [, href = ""] = /<a href="([^"]+)">a&lt;b&gt;\.txt<\/a>/.exec(text) ?? [];
    expect(await (await fetch(href.replaceAll("&amp;", "&"))).text()).toBe("the file");
    expect(text).toContain(boss);
    expect(text).toContain("Another text");
    expect(text).not.toContain("<i>text");
  });
});
