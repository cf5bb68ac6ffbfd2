import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const dayMs = 86_400_000;

describe.each(enginesHere())("Retrying a mail that has failed (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  const refused = new Set<string>();
  let relay: Awaited<ReturnType<typeof scriptedSmtp>>;
  let world: World;
  let inboxId: string;

  beforeAll(async () => {
    relay = await scriptedSmtp({
      answer: (command) => {
        const address = /^RCPT TO:<([^>]+)>/i.exec(command)?.[1] ?? "";
        return refused.has(address) ? "554 5.7.1 Not now" : undefined;
      },
    });
    world = await startWorld({
      env: {
        OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
        SENDS_PER_MINUTE: "0",
        SENDS_PER_DAY: "10",
        COLD_RECIPIENT_DAILY: "0",
      },
    });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await relay.close();
  });

  const retry = (id: string) => world.api(`/v1/messages/${id}/retry`, { method: "POST" });
  const message = async (id: string) => (await world.api(`/v1/messages/${id}`)).body;
  const isOver = (id: string) => untilSo(async () => (await message(id)).status !== "pending");

  async function failed(body: object = {}): Promise<string> {
    inboxId = await newInbox(world);
    refused.add("jane@example.com");
    const { messageId } = (await send(world, inboxId, body)).body;
    await isOver(messageId);
    return messageId;
  }

  test("goes out with the same bytes, and counts for the day", async () => {
    const id = await failed();
    expect((await message(id)).failure.reason).toBe("refused");
    const before = await (await world.fetch(`/v1/messages/${id}/raw`)).text();
    refused.clear();
    const answer = await retry(id);
    expect(answer).toMatchObject({ status: 200, body: { messageId: id, status: "pending" } });
    expect(answer.headers.get("ratelimit")).toContain('"daily";r=8');
    await isOver(id);
    expect(await message(id)).toMatchObject({ status: "sent", failure: null });
    expect(await (await world.fetch(`/v1/messages/${id}/raw`)).text()).toBe(before);
    expect((await retry(id)).body).toMatchObject({ code: "not_retryable", message_status: "sent" });
    const [entry] = (await world.api("/v1/audit?limit=1")).body.data;
    expect(entry).toMatchObject({ action: "outbox.retried", target: { id } });
  });

  test("goes only to the recipients that have failed", async () => {
    const id = await failed({ to: ["jane@example.com", "joe@example.com"] });
    expect(await message(id)).toMatchObject({ status: "sent", failure: { reason: "refused" } });
    refused.clear();
    const mails = relay.mails.length;
    expect((await retry(id)).status).toBe(200);
    await untilSo(async () =>
      (await message(id)).recipients.every(({ status }: { status: string }) => status === "sent"),
    );
    expect(relay.mails.slice(mails).map(({ to }) => to)).toEqual(["jane@example.com"]);
    expect((await message(id)).failure).toBeNull();
  });

  test("is refused if a person would have to approve the mail, unless the person has", async () => {
    const id = await failed();
    await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { sendPolicy: "approve_all" } });
    expect(await retry(id)).toMatchObject({ status: 409, body: { code: "not_retryable", message_status: "failed" } });
    const { body: other } = await world.api("/v1/keys", { method: "POST", body: {} });
    const { messageId } = (await send(world, inboxId, { subject: "Approved" }, { apiKey: other.key })).body;
    await world.api(`/v1/drafts/${messageId}/approve`, { method: "POST", body: { version: 1 } });
    await isOver(messageId);
    expect(await message(messageId)).toMatchObject({ status: "failed", failure: { reason: "refused" } });
    expect((await retry(messageId)).status).toBe(200);
  });

  test.each(["an earlier", "the last"])(
    "that %s attempt got no answer is told if the retry is canceled",
    async (which) => {
      let isSilent = true;
      const lossy = await scriptedSmtp({
        answer(command) {
          if (command === "." && isSilent) {
            if (which === "the last") other.clock.pass(7 * dayMs);
            return "hang up";
          }
          return command.startsWith("RCPT") && !isSilent ? "450 4.2.0 Later" : undefined;
        },
      });
      await using other = await startWorld({
        env: { OUTBOUND: `smtp://127.0.0.1:${lossy.port}?tls=off` },
      });
      const { messageId } = (await send(other, await newInbox(other))).body;
      const shown = async () => (await other.api(`/v1/messages/${messageId}`)).body;
      await untilSo(() => lossy.mails.length === 1);
      other.clock.pass(7 * dayMs);
      await untilSo(async () => (await shown()).status === "failed");
      expect(await shown()).toMatchObject({ failure: { reason: "timed_out" } });
      expect((await shown()).mayHaveBeenSent).toBeUndefined();
      isSilent = false;
      expect((await other.api(`/v1/messages/${messageId}/retry`, { method: "POST" })).status).toBe(200);
      const path = `/v1/messages/${messageId}/cancel`;
      await untilSo(async () => (await other.api(path, { method: "POST" })).status === 200);
      expect(await shown()).toMatchObject({ failure: { reason: "canceled" }, mayHaveBeenSent: true });
      await lossy.close();
    },
  );

  test("of scheduled mail waits for its end, and is refused if it was never sent", async () => {
    const inbox = await newInbox(world);
    const sendAt = new Date(world.clock.now().getTime() + dayMs).toISOString();
    const { messageId } = (await send(world, inbox, { sendAt })).body;
    expect((await retry(messageId)).body).toMatchObject({ code: "not_retryable", message_status: "pending" });
    await world.api(`/v1/messages/${messageId}/cancel`, { method: "POST" });
    expect((await retry(messageId)).body).toMatchObject({ code: "not_retryable", message_status: "failed" });
  });

  test("is refused where a send would be, over the limit, after five times and after 30 days", async () => {
    const id = await failed();
    const add = { address: "jane@example.com", inboxId };
    const { body: added } = await world.api("/v1/suppressions", { method: "POST", body: add });
    expect((await retry(id)).body.code).toBe("recipient_suppressed");
    await world.api(`/v1/suppressions/${added.id}`, { method: "DELETE" });
    await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { sendPolicy: "closed" } });
    expect((await retry(id)).body.code).toBe("sending_disabled");
    await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: { sendPolicy: "open" } });
    for (let times = 0; times < 5; times += 1) {
      expect((await retry(id)).status).toBe(200);
      await isOver(id);
    }
    expect((await retry(id)).body.code).toBe("not_retryable");
    refused.clear();
    const full = await failed();
    for (let times = 0; times < 9; times += 1) await send(world, inboxId, { to: `${times}@example.org` });
    expect((await retry(full)).body.code).toBe("daily_limit_exceeded");
    world.clock.pass(31 * dayMs);
    expect((await retry(full)).body.code).toBe("not_retryable");
  });
});
