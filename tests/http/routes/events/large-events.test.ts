import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { openStream, type StreamClient } from "../../../support/event-stream.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
const clients: StreamClient[] = [];

beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
afterAll(() => world[Symbol.asyncDispose]());

async function stream(query: string): Promise<StreamClient> {
  const client = await openStream(new URL(`/v1/events/stream${query}`, world.service.apiUrl), {
    authorization: `Bearer ${world.apiKey}`,
  });
  clients.push(client);
  return client;
}

test("An event larger than all that an account may keep written reaches each who listens, whatever they include", async () => {
  const inbox = await world.inbox();
  const listening = await Promise.all(
    ["", "&include=html", "&include=automated"].map((include) => stream(`?inbox_id=${inbox.id}${include}`)),
  );
  for (const client of listening) await client.frame(({ event }) => event === "ready");
  // Twice as long in JSON.
  const body = `${'"'.repeat(900)}\r\n`.repeat(2_800);
  for (const subject of ["large", "small"]) {
    const mail = `From: jane@example.com\r\nSubject: ${subject}\r\n\r\n${subject === "large" ? body : ""}`;
    expect(await world.deliver(mail, inbox.address)).toStartWith("250");
  }
  for (const client of listening) {
    await client.untilTold(2);
    const told = client.frames.filter(({ event }) => event === "message.received");
    expect(told.map(({ data }) => JSON.parse(data ?? "").message.subject)).toEqual(["large", "small"]);
  }
});
