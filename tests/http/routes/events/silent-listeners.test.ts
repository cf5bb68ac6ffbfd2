import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { frameParser, openStream } from "../../../support/event-stream.ts";
import { type HurriedListeners, hurriedListeners } from "../../../support/hurried-listeners.ts";
import { pausedStream } from "../../../support/paused-stream.ts";
import { until } from "../../../support/until.ts";
import { wholeLog } from "../../../support/whole-log.ts";
import { startWorld, type World } from "../../../support/world.ts";

const everything = "/v1/events/stream?types=*&after=start";
const slowFrame = { event: "end", data: '{"reason":"slow"}' };

/** A world whose log is one mail of so many octets, told again and again: as many events, and those of its inbox. */
async function worldWithLog({ events, textBytes }: { events: number; textBytes: number }): Promise<World> {
  const world = await startWorld();
  const inbox = await world.inbox("ada");
  const text = `${"long line ".repeat(20)}\r\n`.repeat(textBytes / 200);
  const mail = `From: jane@example.com\r\nSubject: again and again\r\n\r\n${text}\r\n`;
  expect(await world.deliver(mail, inbox.address)).toStartWith("250");
  await query(
    world.service.deps.db.api,
    sql`insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
        select left(id, -6) || lpad(number::text, 6, '0'), account_id, inbox_id, thread_id, message_id, type, occurred_at
        from events, generate_series(1, ${events}::int) as number where type = 'message.received'`,
  );
  return world;
}

/** A client at a socket that was let in, and which answers nothing from then on. */
async function silentSocket({ url }: HurriedListeners): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname);
  socket.write(
    `GET /v1/ws HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer any\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("0123456789abcdef")}\r\n\r\n`,
  );
  const head = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  expect(head.toString()).toStartWith("HTTP/1.1 101 ");
  return socket;
}

/** A short text as a client sends it: masked, with a mask that changes nothing. */
function frameOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

describe("A stream whose client never reads", () => {
  test.each([
    ["in small events", 400, 50_000],
    ["in the midst of an event that is larger than what may lie unsent", 60, 250_000],
  ])(
    "ends as slow %s, and goes on behind it: each event once",
    async (_, events, textBytes) => {
      await using world = await worldWithLog({ events, textBytes });
      await using hurried = await hurriedListeners(world, 50);
      const silent = await pausedStream(new URL(everything, hurried.url), "any");
      await until(() => hurried.closed.length > 0);
      expect(hurried.closed).toEqual(["slow"]);
      expect(hurried.sent()).toBeLessThan(events);
      silent.resume();
      await silent.over;
      expect(silent.frames.at(-1)).toEqual(slowFrame);
      expect(silent.ids()).toHaveLength(hurried.sent());

      const lastId = silent.frames.findLast(({ id }) => id !== undefined)?.id ?? "";
      const again = await openStream(new URL("/v1/events/stream?types=*", world.service.apiUrl), {
        authorization: `Bearer ${world.apiKey}`,
        "last-event-id": lastId,
      });
      const all = await wholeLog(world);
      const missed = await again.untilTold(all.length - silent.ids().length);
      expect([...silent.ids(), ...missed]).toEqual(all);
      again.close();
    },
    120_000,
  );

  test.each([
    ["an event of 50 KB", 50_000],
    ["an event of 250 KB", 250_000],
  ])(
    "has no more lying here for it than one event: %s",
    async (_, textBytes) => {
      await using world = await worldWithLog({ events: 60, textBytes });
      await using hurried = await hurriedListeners(world, 50);
      const answer = await hurried.answer(everything);
      await until(() => hurried.closed.length > 0);
      const frames = frameParser()(await answer.bytes());
      const events = ["inbox.created", "message.received"];
      expect(frames.flatMap(({ event }) => event ?? [])).toEqual(["ready", ...events, "end"]);
      expect(frames.at(-1)).toEqual(slowFrame);
      expect(hurried.sent()).toBe(events.length);
    },
    60_000,
  );
});

describe("A socket", () => {
  test("whose client answers no ping is cut off", async () => {
    await using world = await startWorld();
    await using hurried = await hurriedListeners(world, 5);
    const socket = await silentSocket(hurried);
    let pings = 0;
    let isOver = false;
    // Two octets: what a ping is, with nothing in it.
    socket.on("data", (data) => {
      pings += data.length / 2;
    });
    socket.on("close", () => {
      isOver = true;
    });
    await until(() => isOver);
    expect(pings).toBe(2);
    expect(hurried.closed).toEqual(["left"]);
  }, 60_000);

  test("whose client never reads is closed with 4009 for being slow", async () => {
    await using world = await worldWithLog({ events: 400, textBytes: 50_000 });
    await using hurried = await hurriedListeners(world, 50);
    const socket = await silentSocket(hurried);
    socket.pause();
    socket.write(frameOf(JSON.stringify({ type: "subscribe", last_event_id: "start" })));
    await until(() => hurried.closed.length > 0);
    expect(hurried.closed).toEqual(["slow"]);
    expect(hurried.sent()).toBeLessThan(400);
    let end: Buffer = Buffer.alloc(0);
    socket.on("data", (data: Buffer) => {
      end = Buffer.concat([end, data]).subarray(-8);
    });
    socket.resume();
    await until(() => end.includes("slow"));
    expect(end).toEqual(Buffer.concat([Buffer.from([0x88, 6, 4009 >> 8, 4009 & 255]), Buffer.from("slow")]));
    socket.destroy();
  }, 120_000);
});
