import { afterAll, expect, test } from "bun:test";
import { openDoor } from "../../support/http-door.ts";

const door = openDoor();
afterAll(() => door.server.stop(0));

const ask = (path: string) => door.ask("GET", path, { headers: { authorization: "" } });

test.each([
  ["/favicon.svg", "image/svg+xml"],
  ["/favicon.ico", "image/x-icon"],
])("%s is served without a key, and cached for a day", async (path, type) => {
  const answer = await ask(path);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
  expect(answer.headers.get("cache-control")).toBe("public, max-age=86400");
  expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'");
});

test("The SVG references no other file", async () => {
  const text = await (await ask("/favicon.svg")).text();
  expect(text).toStartWith('<svg xmlns="http://www.w3.org/2000/svg" ');
  expect(text).not.toMatch(/href|url\(|@import|<script|<image/);
});

test("The icon is one complete picture", async () => {
  const bytes = Buffer.from(await (await ask("/favicon.ico")).arrayBuffer());
  // ICO: kind 1, one picture; its size and where it begins; then a PNG to its end.
  expect([bytes.readUInt16LE(2), bytes.readUInt16LE(4), bytes[6], bytes[7]]).toEqual([1, 1, 32, 32]);
  const [size, start] = [bytes.readUInt32LE(14), bytes.readUInt32LE(18)];
  expect(start + size).toBe(bytes.length);
  expect(bytes.subarray(start, start + 8).toHex()).toBe("89504e470d0a1a0a");
  expect(bytes.subarray(-12).toString("latin1")).toContain("IEND");
});
