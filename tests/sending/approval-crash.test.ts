import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import type { RunningInboxd } from "../support/inboxd.ts";
import { kill, livesOn, newInboxOf } from "../support/lives.ts";
import { untilSo } from "../support/until.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? 3);
const ownerKey = "key-of-the-first-account-in-tests";

describe.each(enginesHere())("kill -9 around an approval (%s)", (engine) => {
  const lives = livesOn(engine);

  test("an approved mail is sent once, and one that was not approved is not sent", async () => {
    await using life = await lives();
    const relay = await life.relay();
    let process = await life.start(relay);
    const inboxId = await newInboxOf(process);
    const asked = await process.request("POST", "/v1/keys", { access: "agent", sendPolicy: "approve_all" }, ownerKey);
    const { key } = (await asked.json()) as { key: string };
    const answered = new Set<string>();
    const all: string[] = [];
    const approve = async (at: RunningInboxd, id: string) => {
      const { status } = await at.request("POST", `/v1/drafts/${id}/approve`, { version: 1 }, ownerKey);
      if (status === 200) answered.add(id);
    };

    for (let round = 0; round < rounds; round += 1) {
      const ids = await Promise.all(Array.from({ length: 12 }, () => sendWith(process, inboxId, key)));
      all.push(...ids);
      const dying = process;
      const approving = ids.map((id) => approve(dying, id).catch(() => undefined));
      // At a random point between the approvals and their dispatches.
      await Promise.all(approving.slice(0, Math.floor(Math.random() * ids.length)));
      await kill(process);
      await Promise.all(approving);
      process = await life.start(relay);
    }
    await kill(process);

    const world = await life.recover();
    const draft = async (id: string) => (await world.api(`/v1/drafts/${id}`)).body;
    for (const id of all) await untilSo(async () => (await draft(id)).state !== "scheduled");
    await world.settled();
    for (const id of all) {
      const { state, approval } = await draft(id);
      // An approval whose answer was lost may have been written.
      if (answered.has(id)) expect([id, approval.decision]).toEqual([id, "approved"]);
      expect([id, state]).toEqual([id, approval.decision === "approved" ? "sent" : "awaiting_approval"]);
      const copies = life.mails().filter(({ raw }) => raw.toString("latin1").includes(`\r\nMessage-ID: <${id}@`));
      // A copy whose reply was in transit when the process died comes again, with the same bytes.
      expect([id, new Set(copies.map(({ raw }) => raw.toString())).size]).toEqual([id, state === "sent" ? 1 : 0]);
    }
    expect(answered.size).toBeGreaterThan(0);
    expect(life.mails().length).toBeLessThanOrEqual(all.length + rounds * 5);
  }, 120_000);
});

/** Asks for a mail with the key of an agent. Returns its id. */
async function sendWith(process: RunningInboxd, inboxId: string, key: string): Promise<string> {
  const response = await fetch(new URL(`/v1/inboxes/${inboxId}/send`, process.api), {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID(),
    },
    body: JSON.stringify({ to: "jane@example.com", subject: "Hello", body: "Hello" }),
  });
  const { messageId, state } = (await response.json()) as { messageId: string; state: string };
  expect([response.status, state]).toEqual([200, "awaiting_approval"]);
  return messageId;
}
