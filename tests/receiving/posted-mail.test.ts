import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import type { RunningInboxd } from "../support/inboxd.ts";
import { kill, livesOn } from "../support/lives.ts";
import { mailOf } from "../support/mail.ts";
import { inStrings } from "../support/published.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { startWorld, type World } from "../support/world.ts";

const apiKey = "key-of-the-first-account-in-tests";
const ingestToken = "the-token-of-the-edge-worker-in-tests";

function post(api: string | URL, raw: BodyInit, to: string, { key = apiKey, ...headers }: Record<string, string> = {}) {
  return fetch(new URL("/v1/inbound", api), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "message/rfc822", "envelope-to": to, ...headers },
    body: raw,
  });
}

describe.each(enginesHere())("Mail by HTTP (%s)", (engine) => {
  const lives = livesOn(engine);

  test("after kill -9 in the middle of a mail, and again before its answer, the repeated mail is one message", async () => {
    await using life = await lives();
    const relay = await life.relay();
    const raw = mailOf({ messageId: "killed@example.com", text: "x".repeat(3 << 20) });
    let inbox = { id: "", address: "" };
    for (const part of ["a half", "all of it"]) {
      const process = await life.start(relay);
      if (inbox.id === "") inbox = await made(process);
      const reached = Promise.withResolvers<void>();
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          controller.enqueue(Buffer.from(part === "a half" ? raw.slice(0, raw.length / 2) : raw));
          reached.resolve();
          if (part === "a half") await process.exited;
          controller.close();
        },
      });
      const answered = post(process.api, body, inbox.address).catch(() => undefined);
      await reached.promise;
      // At a random point on the way of the mail.
      if (part === "all of it") await Promise.race([answered, Bun.sleep(Math.random() * 100)]);
      await kill(process);
      await answered;
    }
    const world = await life.recover();
    for (const _ of "12") expect((await post(world.service.apiUrl, raw, inbox.address)).status).toBe(200);
    await world.settled();
    const { data } = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body;
    expect(data).toHaveLength(1);
    const stored = await (await world.fetch(`/v1/messages/${data[0].id}/raw`)).bytes();
    expect(Buffer.compare(stored, Buffer.from(raw))).toBe(0);
  }, 90_000);

  describe("in a world", () => {
    let dns: ScriptedDns;
    let world: World;
    beforeAll(async () => {
      const spf = inStrings("v=spf1 ip4:192.0.2.9 -all", 255);
      dns = await scriptedDns(zone([{ name: "example.com", type: "TXT", ttl: 300, data: spf }]));
      const env = { INGEST_TOKEN: ingestToken, DNS_SERVERS: `127.0.0.1:${dns.port}`, AUTHENTICATE: "always" };
      world = await startWorld({ env, ...(engine === "embedded" && { database: "embedded" as const }) });
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      await dns.close();
    });

    test("the address of the sender counts for SPF with INGEST_TOKEN alone", async () => {
      const spfOf = async (headers: Record<string, string>) => {
        const { id, address } = await world.inbox();
        const given = { "envelope-from": "jane@example.com", "client-address": "192.0.2.9", ...headers };
        expect((await post(world.service.apiUrl, mailOf(), address, given)).status).toBe(200);
        const { authentication } = (await world.api(`/v1/inboxes/${id}/messages`)).body.data[0];
        return [authentication.spf.result, authentication.verdict, authentication.clientAddress];
      };
      expect(await spfOf({ key: ingestToken })).toEqual(["pass", "pass", "192.0.2.9"]);
      expect(await spfOf({ key: ingestToken, "client-address": "198.51.100.7" })).toEqual([
        "fail",
        "none",
        "198.51.100.7",
      ]);
      expect(await spfOf({})).toEqual(["none", "none", null]);
    });

    test("25 MiB are stored byte for byte", async () => {
      const { id, address } = await world.inbox();
      const raw = new Uint8Array(26_214_400).fill(0x78);
      raw.set(Buffer.from(`${mailOf({ messageId: "large@example.com", text: "" })}\0\n.\n`));
      expect((await post(world.service.apiUrl, raw, address)).status).toBe(200);
      const { data } = (await world.api(`/v1/inboxes/${id}/messages`)).body;
      const stored = await (await world.fetch(`/v1/messages/${data[0].id}/raw`)).bytes();
      expect(Buffer.compare(stored, raw)).toBe(0);
    });

    test.skipIf(engine === "embedded")("the same mail 20 times at once over two processes is one message", async () => {
      await using other = await world.another();
      const { id, address } = await world.inbox();
      const raw = mailOf({ messageId: "twenty@example.com" });
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, number) => post((number % 2 ? other : world).service.apiUrl, raw, address)),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      expect((await world.api(`/v1/inboxes/${id}/messages`)).body.total).toBe(1);
      expect((await world.api(`/v1/events?inbox_id=${id}`)).body.data).toHaveLength(1);
    });
  });
});

async function made(process: RunningInboxd): Promise<{ id: string; address: string }> {
  const answer = await process.request("POST", "/v1/inboxes", {}, apiKey);
  return (await answer.json()) as { id: string; address: string };
}
