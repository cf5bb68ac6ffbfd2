import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { createKey } from "../../../src/flows/account/manage-accounts.ts";
import { eventFeeds } from "../../../src/flows/events/event-feeds.ts";
import { logTurns } from "../../../src/flows/events/log-turns.ts";
import { openStreams } from "../../../src/flows/events/open-streams.ts";
import { eventWriter } from "../../../src/flows/events/written-events.ts";
import { listeners } from "../../../src/flows/listeners.ts";
import { socketSession } from "../../../src/http/routes/socket.ts";
import { type SocketSession, socketHandlers, upgraded } from "../../../src/http/shell/sockets.ts";
import { findFirstAccount } from "../../../src/store/account/accounts.ts";
import { until } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

/** Sockets on the log of a world, whose seconds are short. */
async function hurriedSockets({ service: { deps } }: World, secondMs: number) {
  const account = await findFirstAccount(deps.db.api);
  if (account === undefined) throw new Error("There is no account");
  const key = await createKey(deps, deps.db.api, { accountId: account.id });
  const closed: string[] = [];
  const write = eventWriter({ ...deps, links: { attachmentUrl: async () => ({ url: "", expiresAt: deps.now() }) } });
  const feeds = eventFeeds({ ...deps, write });
  const streaming = { ...deps, feeds, write, turns: logTurns(1) };
  const open = openStreams({
    ...{ ...deps, secondMs, listeners: listeners({ perAccount: 10, perProcess: 10 }) },
    observe: { closed: (why) => closed.push(why) },
  });
  const caller = { id: account.id, plan: account.plan, keyId: key.id };
  const server = Bun.serve<SocketSession>({
    port: 0,
    fetch: (request, bun) =>
      upgraded(request, bun, Promise.resolve(socketSession({ ...deps, streaming, open }, caller))),
    websocket: socketHandlers,
  });
  return {
    closed,
    port: Number(server.url.port),
    async [Symbol.asyncDispose]() {
      open.stop();
      feeds.stop();
      await server.stop(true);
    },
  };
}

/** A client that was let in, and which answers nothing from then on. */
async function silentClient(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.write(
    `GET /v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("0123456789abcdef")}\r\n\r\n`,
  );
  const head = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
  expect(head.toString()).toStartWith("HTTP/1.1 101 ");
  return socket;
}

/** A short text as a client sends it: masked, with a mask that changes nothing. */
function frameOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

test("A socket whose client answers no ping is cut off", async () => {
  await using world = await startWorld();
  await using sockets = await hurriedSockets(world, 5);
  const socket = await silentClient(sockets.port);
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
  expect(sockets.closed).toEqual(["left"]);
}, 60_000);

test("A socket whose client never reads is closed with 4009 for being slow", async () => {
  await using world = await startWorld();
  const inbox = await world.inbox("ada");
  // More than the kernel keeps for a connection.
  const text = `${"long line ".repeat(20)}\r\n`.repeat(1_000);
  for (let index = 0; index < 60; index += 1) {
    const mail = `From: jane@example.com\r\nSubject: mail ${index}\r\n\r\n${text}\r\n`;
    expect(await world.deliver(mail, inbox.address)).toStartWith("250");
  }
  await using sockets = await hurriedSockets(world, 100);
  const socket = await silentClient(sockets.port);
  socket.pause();
  socket.write(frameOf(JSON.stringify({ type: "subscribe", last_event_id: "start" })));
  await until(() => sockets.closed.length > 0);
  expect(sockets.closed).toEqual(["slow"]);
  let end: Buffer = Buffer.alloc(0);
  socket.on("data", (data: Buffer) => {
    end = Buffer.concat([end, data]).subarray(-8);
  });
  socket.resume();
  await until(() => end.includes("slow"));
  expect(end).toEqual(Buffer.concat([Buffer.from([0x88, 6, 4009 >> 8, 4009 & 255]), Buffer.from("slow")]));
  socket.destroy();
}, 120_000);
