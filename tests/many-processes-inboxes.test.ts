import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "./support/engines.ts";
import { type Fleet, startFleet } from "./support/fleet.ts";
import type { RunningInboxd } from "./support/inboxd.ts";
import { mailOf } from "./support/mail.ts";
import { inData } from "./support/raw-smtp.ts";
import { tally } from "./support/sends.ts";
import { untilSo } from "./support/until.ts";
import { deliver } from "./support/world.ts";

const isHere = enginesHere().includes("postgres");

describe.skipIf(!isHere)("An inbox of two processes on one Postgres", () => {
  let fleet: Fleet;
  let one: RunningInboxd;
  let two: RunningInboxd;
  beforeAll(async () => {
    fleet = await startFleet(2, { INBOXES_PER_DAY: "0" });
    [one, two] = fleet.processes as [RunningInboxd, RunningInboxd];
  }, 120_000);
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  }, 30_000);

  test("gets an alias that both are asked for at once for two inboxes, or the other one does", async () => {
    const [ada, bob] = [await fleet.inbox(), await fleet.inbox()];
    const put = (process: RunningInboxd, id: string, name: string) =>
      fleet.api(`/v1/inboxes/${id}/aliases/${name}`, { method: "PUT", process });
    for (let round = 0; round < 20; round += 1) {
      const name = `shared-${round}`;
      const answers = await Promise.all([put(one, ada.id, name), put(two, bob.id, name)]);
      expect(tally(answers)).toEqual({ "200": 1, "409 address_taken": 1 });
      const winner = answers[0]?.status === 200 ? ada : bob;
      const { data } = (await fleet.api(`/v1/inboxes?address=${name}`)).body;
      expect(data.map(({ id }: { id: string }) => id)).toEqual([winner.id]);
      expect(await fleet.deliver(mailOf({ messageId: `${name}@x.example` }), `${name}@inbox.localhost`)).toStartWith(
        "250",
      );
      await fleet.api(`/v1/inboxes/${winner.id}/aliases/${name}`, { method: "DELETE" });
    }
  }, 60_000);

  test("is deleted once at its end, also if one of them is killed meanwhile", async () => {
    const inboxes = await Promise.all(Array.from({ length: 60 }, () => fleet.inbox()));
    const third = await fleet.another();
    const left = async () => {
      const text = "select count(*)::int as count from inboxes where expires_at is not null and deleted_at is null";
      const [row] = (await fleet.database.run(text, [])) as { count: number }[];
      return row?.count ?? 0;
    };
    const { total: before } = (await fleet.api("/v1/inboxes?limit=1")).body;
    await fleet.database.script(
      `update inboxes set expires_at = now() where id in (${inboxes.map(({ id }) => `'${id}'`).join(", ")})`,
    );
    await untilSo(async () => (await left()) < 60);
    third.signal("SIGKILL");
    await third.exited;
    await untilSo(async () => (await left()) === 0);
    expect((await fleet.api("/v1/inboxes?limit=1")).body.total).toBe(before - 60);
    const text =
      "select target_id as id, count(*)::int as count from audit_entries where action = 'inbox.deleted' group by 1";
    const rows = (await fleet.database.run(text, [])) as { id: string; count: number }[];
    const counts = new Map(rows.map(({ id, count }) => [id, count]));
    expect(inboxes.map(({ id }) => counts.get(id))).toEqual(inboxes.map(() => 1));
  }, 60_000);

  test("that one disables takes no mail by the other after that", async () => {
    const { id, address } = await fleet.inbox();
    const change = (disabled: boolean) =>
      fleet.api(`/v1/inboxes/${id}`, { method: "PATCH", body: { disabled }, process: one });
    const smtpPort = two.smtpPort;
    let stored = 0;
    for (let round = 0; round < 20; round += 1) {
      // The other process remembers the inbox, and how it was after the last mail.
      expect(await deliver(smtpPort, mailOf({ messageId: `before-${round}@x.example` }), address)).toStartWith("250");
      const client = await inData(smtpPort, address);
      const racing = await inData(smtpPort, address);
      racing.send(`${mailOf({ messageId: `racing-${round}@x.example` })}\r\n.\r\n`);
      const [raced] = await Promise.all([racing.reply(), change(true)]);
      expect(["250", "550"]).toContain(raced.slice(0, 3));
      stored += raced.startsWith("250") ? 2 : 1;
      client.send(`${mailOf({ messageId: `after-${round}@x.example` })}\r\n.\r\n`);
      expect(await client.reply()).toStartWith("550 5.2.1");
      for (const each of [client, racing]) each.destroy();
      expect((await change(false)).status).toBe(200);
    }
    expect((await fleet.api(`/v1/inboxes/${id}/messages?limit=1`)).body.total).toBe(stored);
  }, 60_000);
});
