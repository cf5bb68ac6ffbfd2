import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { prune } from "../../src/workers/prune.ts";
import { enginesHere } from "../support/engines.ts";
import { mailgunFailure, type Named } from "../support/relay-notices/examples.ts";
import { namingRelay, noticeDoor, noticedWorld, sentBy } from "../support/relay-notices/noticed-world.ts";
import { type Signed, signedByMailgun } from "../support/relay-notices/signing.ts";
import { suppressed } from "../support/reported.ts";
import type { ScriptedSmtp } from "../support/scripted-smtp.ts";
import type { World } from "../support/world.ts";

let relay: ScriptedSmtp;
beforeAll(async () => {
  relay = await namingRelay();
});
afterAll(() => relay.close());

const minuteMs = 60_000;

/** A world with notices from Mailgun, and two mails that Mailgun accepted. */
async function told() {
  const world = await noticedWorld(relay, "mailgun");
  const inbox = await world.inbox();
  const first = await sentBy(relay, world, inbox, { to: "jane@example.com" });
  const second = { ...(await sentBy(relay, world, inbox, { to: "joe@example.com" })), recipient: "joe@example.com" };
  return { world, first, second };
}

const bounced = (mail: Named, more: Parameters<typeof signedByMailgun>[1] = {}) =>
  signedByMailgun(mailgunFailure(mail), more);

async function statusOf(world: World, signed: Signed): Promise<number> {
  return (await (await noticeDoor(world, "mailgun"))(signed)).status;
}

const addresses = async (world: World) => (await suppressed(world)).map(({ address }) => address);

describe("a token of Mailgun", () => {
  test("signs one notice: the same again is 200, another is 401 and changes nothing, also after a restart", async () => {
    const { world, first, second } = await told();
    await using _ = world;
    const notice = bounced(first);
    expect(await statusOf(world, notice)).toBe(200);
    expect(await statusOf(world, notice)).toBe(200);
    expect(await statusOf(world, bounced(second))).toBe(401);
    await world.restart();
    expect(await statusOf(world, bounced(second))).toBe(401);
    expect(await statusOf(world, notice)).toBe(200);
    expect(await addresses(world)).toEqual(["jane@example.com"]);
    expect((await world.api(`/v1/messages/${second.messageId}`)).body.delivery).toBeNull();
    expect(await statusOf(world, bounced(second, { random: "another-token-of-mailgun" }))).toBe(200);
  }, 60_000);

  test("of ten different notices at the same time signs one", async () => {
    const { world, first } = await told();
    await using _ = world;
    const notices = Array.from({ length: 10 }, (_, number) => signedByMailgun({ ...mailgunFailure(first), number }));
    const statuses = await Promise.all(notices.map((notice) => statusOf(world, notice)));
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 401)]);
  }, 60_000);

  test("is valid for at most an hour before and after its time", async () => {
    const { world, first } = await told();
    await using _ = world;
    const notice = bounced(first);
    world.clock.pass(60 * minuteMs + 1000);
    expect(await statusOf(world, notice)).toBe(401);
    const ahead = new Date(world.clock.now().getTime() + 61 * minuteMs);
    expect(await statusOf(world, bounced(first, { at: ahead }))).toBe(401);
    expect(await statusOf(world, bounced(first, { at: new Date(9e15) }))).toBe(401);
    expect(await addresses(world)).toEqual([]);
    const within = new Date(world.clock.now().getTime() - 59 * minuteMs);
    expect(await statusOf(world, bounced(first, { at: within }))).toBe(200);
  }, 60_000);

  test("is not used up by a notice that was refused for now", async () => {
    const { world, first } = await told();
    await using _ = world;
    const unknown = { ...first, returnPath: "", messageId: "msg_1", rfcMessageId: "nobody@elsewhere.example" };
    const at = world.clock.now();
    expect(await statusOf(world, bounced({ ...unknown, at }))).toBe(503);
    expect(await statusOf(world, bounced(first))).toBe(200);
    expect(await statusOf(world, bounced({ ...unknown, at }))).toBe(401);
  }, 60_000);

  test("is deleted an hour after it ended, and not before", async () => {
    const { world, first } = await told();
    await using _ = world;
    expect(await statusOf(world, bounced(first))).toBe(200);
    const kept = async () => {
      await prune({ ...world.service.deps, eventRetentionDays: 30 });
      return (await query(world.service.deps.db.api, sql`select 1 from used_tokens`)).length;
    };
    world.clock.pass(119 * minuteMs);
    expect(await kept()).toBe(1);
    world.clock.pass(2 * minuteMs);
    expect(await kept()).toBe(0);
  }, 60_000);

  test.skipIf(!enginesHere().includes("postgres"))(
    "is used up for all processes",
    async () => {
      const { world, first, second } = await told();
      await using _ = world;
      await using other = await world.another();
      expect(await statusOf(world, bounced(first))).toBe(200);
      expect(await statusOf(other, bounced(second))).toBe(401);
      expect(await statusOf(other, bounced(first))).toBe(200);
    },
    60_000,
  );
});
