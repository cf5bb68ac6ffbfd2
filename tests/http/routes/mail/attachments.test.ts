import { describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import type { ParsedAttachment } from "../../../../src/domain/message.ts";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { newAccount } from "../../../support/sends.ts";
import { until } from "../../../support/until.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const small = new TextEncoder().encode("0123456789");
/** Three pieces and a bit, no two of them alike. */
const large = new Uint8Array(3_500_000).map((_, index) => (index * 31 + (index >> 16)) & 255);

interface Shown {
  filename: string;
  url: string;
  expiresAt: string;
  sizeBytes: number;
}

for (const engine of enginesHere()) {
  describe(`Attachments on ${engine}`, () => {
    const world = oneWorldOn(engine);

    /** A message with these attachments in an inbox of its own. */
    async function arrived(first: Partial<ParsedAttachment> = {}, ...others: Partial<ParsedAttachment>[]) {
      const inbox = await world().inbox();
      const whole = [first, ...others].map((attachment) => ({
        filename: "report.pdf",
        contentType: "application/pdf",
        contentId: undefined,
        inline: false,
        bytes: small,
        ...attachment,
      }));
      await takeIn(world().service.deps, inbox, [{ attachments: whole }]);
      const [message] = (await world().api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
      return { inbox, message, shown: message.attachments as Shown[], first: message.attachments[0] as Shown };
    }

    const get = (url: string, headers: Record<string, string> = {}, method = "GET") => fetch(url, { headers, method });
    const withKey = () => ({ authorization: `Bearer ${world().apiKey}` });
    const bare = (url: string) => url.replace(/\?.*/, "");
    const codeOf = async (answer: Response) => [answer.status, ((await answer.json()) as { code: string }).code];

    test("An attachment has the fields of the contract, in their order", async () => {
      const { message, first } = await arrived({ contentId: "logo@example.com", inline: true });
      const expires = Math.floor(world().clock.now().getTime() / 1000) + 900;
      const base = `${world().service.apiUrl.origin}/v1/attachments/${message.id}/report.pdf`;
      expect(Object.entries(first)).toEqual(
        Object.entries({
          filename: "report.pdf",
          contentType: "application/pdf",
          sizeBytes: 10,
          url: expect.stringMatching(/\?expires=\d+&signature=[0-9a-f]{64}&cell=00$/),
          id: expect.stringMatching(/^att_[0-9a-z]{26}$/),
          contentId: "logo@example.com",
          inline: true,
          expiresAt: new Date(expires * 1000).toISOString(),
        }),
      );
      expect(first.url).toStartWith(`${base}?expires=${expires}&`);
    });

    test("The address alone gives the bytes, with every header of the contract", async () => {
      const { first } = await arrived();
      const answer = await get(first.url);
      expect([answer.status, await answer.text()]).toEqual([200, "0123456789"]);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-type": "application/pdf",
        "content-length": "10",
        "content-disposition": `attachment; filename="report.pdf"; filename*=UTF-8''report.pdf`,
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
        "cache-control": "private, no-store",
        "referrer-policy": "no-referrer",
        "accept-ranges": "bytes",
        etag: '"84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"',
        "x-request-id": expect.any(String),
      });
    });

    test.each([
      ["text/html", "application/octet-stream"],
      ["image/svg+xml", "application/octet-stream"],
      ["application/xhtml+xml", "application/octet-stream"],
      ["application/atom+xml", "application/octet-stream"],
      ["text/xml", "application/octet-stream"],
      ["text/javascript", "application/octet-stream"],
      ["application/ecmascript", "application/octet-stream"],
      ["nonsense", "application/octet-stream"],
      ["image/png", "image/png"],
      ["text/plain", "text/plain"],
    ])("%s is served as %s", async (contentType, served) => {
      const { first } = await arrived({ contentType });
      expect((await get(first.url)).headers.get("content-type")).toBe(served);
    });

    test("Any stored name finds its bytes, and is told whole", async () => {
      const names = [
        "a b.txt",
        "100%.txt",
        "%2f.txt",
        "..%2f..%2fetc",
        "a?b#c&d=e.txt",
        "é\u0301ü漢字🎉.txt",
        `q"u'o;te,s.txt`,
        "+.txt",
        "a:b@c!$(*).txt",
      ];
      const { shown } = await arrived(
        ...names.map((filename) => ({ filename, bytes: new TextEncoder().encode(filename) })),
      );
      for (const [index, { url, filename }] of shown.entries()) {
        expect(filename).toBe(names[index] ?? "");
        const answer = await get(url);
        expect([filename, answer.status, await answer.text()]).toEqual([filename, 200, filename]);
        const disposition = answer.headers.get("content-disposition") ?? "";
        expect(disposition).toMatch(/^attachment; filename="[^"\\%]*"; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+$/);
        expect(decodeURIComponent(disposition.split("''")[1] ?? "")).toBe(filename);
      }
    });

    test("What is wrong with an address is told, whoever asks", async () => {
      const { first, message } = await arrived({}, { filename: "other.pdf" });
      const expires = Number(/expires=(\d+)/.exec(first.url)?.[1]);
      const flipped = first.url.replace(/.(?=&cell)/, (last) => (last === "0" ? "1" : "0"));
      for (const headers of [{}, withKey()]) {
        for (const url of [
          flipped,
          first.url.replace(/[0-9a-f]{64}/, ""),
          first.url.replace(/.(?=&cell)/, ""),
          first.url.replace(/signature=([0-9a-f]*)/, (_, hex) => `signature=${hex.toUpperCase()}`),
          first.url.replace(`expires=${expires}`, `expires=${expires + 1}`),
          first.url.replace(`expires=${expires}&`, ""),
          first.url.replace(`expires=${expires}`, "expires=never"),
          first.url.replace("report.pdf", "other.pdf"),
          first.url.replace(message.id, "msg_01jpw7z1x2e9a8r5k3m0t6vqhd"),
          `${bare(first.url)}?signature=`,
        ]) {
          expect([url, ...(await codeOf(await get(url, headers)))]).toEqual([url, 403, "invalid_signature"]);
        }
      }
      const until = world().clock.now().toISOString();
      world().clock.set(new Date(expires * 1000 - 1).toISOString());
      expect((await get(first.url)).status).toBe(200);
      expect((await get(first.url.replace("cell=00", "cell=b7"))).status).toBe(200);
      world().clock.pass(1);
      for (const headers of [{}, withKey()]) {
        expect(await codeOf(await get(first.url, headers))).toEqual([403, "link_expired"]);
        expect(await codeOf(await get(flipped, headers))).toEqual([403, "invalid_signature"]);
      }
      world().clock.set(until);
    });

    test("Without a signature the owner's key is needed", async () => {
      const { first, inbox, message } = await arrived();
      const url = bare(first.url);
      const unsigned = await get(`${url}?expires=1`);
      expect(unsigned.headers.get("www-authenticate")).toBe("Bearer");
      expect(await codeOf(unsigned)).toEqual([401, "unauthorized"]);
      const stranger = { authorization: `Bearer ${await newAccount(world())}` };
      expect(await codeOf(await get(url, stranger))).toEqual([404, "not_found"]);
      expect((await get(url, withKey())).status).toBe(200);
      for (const path of [
        `${message.id}/none.pdf`,
        `${message.id}/..%2freport.pdf`,
        `${message.id}/%00`,
        "msg_x/report.pdf",
        `${message.id}/%`,
      ]) {
        const answer = await get(`${world().service.apiUrl.origin}/v1/attachments/${path}`, withKey());
        expect([path, ...(await codeOf(answer))]).toEqual([path, 404, "not_found"]);
      }
      await world().api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
      expect(await codeOf(await get(first.url))).toEqual([404, "not_found"]);
      expect(await codeOf(await get(url, withKey()))).toEqual([404, "not_found"]);
    });

    test("One range of bytes is served, across pieces too", async () => {
      const { first } = await arrived({ bytes: large });
      const size = large.length;
      const mebi = 1 << 20;
      for (const [range, from, to] of [
        ["bytes=0-0", 0, 0],
        ["bytes=5-9", 5, 9],
        [`bytes=${mebi - 3}-${mebi + 2}`, mebi - 3, mebi + 2],
        [`bytes=1-${2 * mebi}`, 1, 2 * mebi],
        ["bytes=3499990-", 3499990, size - 1],
        ["bytes=3499990-99999999", 3499990, size - 1],
        ["bytes=-7", size - 7, size - 1],
        ["bytes=-99999999", 0, size - 1],
        ["BYTES = 5 - 9", 5, 9],
      ] as const) {
        const answer = await get(first.url, { range });
        const bytes = Buffer.from(await answer.bytes());
        expect([range, answer.status, answer.headers.get("content-range")]).toEqual([
          range,
          206,
          `bytes ${from}-${to}/${size}`,
        ]);
        expect(answer.headers.get("content-length")).toBe(String(to - from + 1));
        expect(bytes.equals(large.subarray(from, to + 1))).toBe(true);
      }
    });

    test("A range that is none is passed over, one that lies behind the end refused", async () => {
      const { first } = await arrived();
      const etag = (await get(first.url)).headers.get("etag") ?? "";
      for (const headers of [
        { range: "bytes=0-1,3-4" },
        { range: "bytes=5-2" },
        { range: "lines=1-2" },
        { range: "bytes=-" },
        { range: "bytes=0-1", "if-range": '"another"' },
        { range: "bytes=0-1", "if-range": `W/${etag}` },
      ]) {
        expect([headers, (await get(first.url, headers)).status]).toEqual([headers, 200]);
      }
      expect((await get(first.url, { range: "bytes=0-1", "if-range": etag })).status).toBe(206);
      for (const range of ["bytes=10-", "bytes=10-20", "bytes=-0"]) {
        const answer = await get(first.url, { range });
        expect([range, answer.status, answer.headers.get("content-range"), await answer.text()]).toEqual([
          range,
          416,
          "bytes */10",
          "",
        ]);
      }
    });

    test("Who has the bytes already gets none, and HEAD tells all but the bytes", async () => {
      const { first } = await arrived({ bytes: large });
      const etag = (await get(first.url)).headers.get("etag") ?? "";
      for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
        const answer = await get(first.url, { "if-none-match": tags, range: "bytes=0-1" });
        expect([tags, answer.status, answer.headers.get("etag"), await answer.text()]).toEqual([tags, 304, etag, ""]);
      }
      expect((await get(first.url, { "if-none-match": '"x"' })).status).toBe(200);
      const head = await get(first.url, { range: "bytes=0-1" }, "HEAD");
      expect([head.status, head.headers.get("content-length"), head.headers.get("etag")]).toEqual([
        200,
        String(large.length),
        etag,
      ]);
      expect((await get(first.url.replace("signature=", "signature=x"), {}, "HEAD")).status).toBe(403);
      expect((await get(first.url, withKey(), "POST")).status).toBe(405);
    });

    test("An empty attachment is served too", async () => {
      const { first } = await arrived({ bytes: new Uint8Array() });
      const answer = await get(first.url);
      expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "0", ""]);
      expect((await get(first.url, { range: "bytes=0-" })).status).toBe(416);
    });

    test("Readers who never read cost no memory and share one file, which goes when they do", async () => {
      const bytes = new Uint8Array(25 << 20).fill(7).map((_, index) => index >> 12);
      const { first } = await arrived({ bytes });
      const whole = await get(first.url);
      expect(whole.headers.get("content-length")).toBe(String(bytes.length));
      expect(Buffer.from(await whole.bytes()).equals(bytes)).toBe(true);
      Bun.gc(true);
      const before = process.memoryUsage.rss();
      await until(() => openAnswers().length === 0);
      const readers = await Promise.all(Array.from({ length: 12 }, () => reader(first.url)));
      Bun.gc(true);
      // All at once they would be 300 MB.
      expect((process.memoryUsage.rss() - before) / 1e6).toBeLessThan(150);
      expect(openAnswers().length).toBeGreaterThan(1);
      expect(new Set(openAnswers()).size).toBe(1);
      for (const { end } of readers) end();
      await until(() => openAnswers().length === 0);
    }, 60_000);
  });
}

/** Asks, and reads no further than the head of the answer. */
async function reader(address: string): Promise<{ end(): void }> {
  const url = new URL(address);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", reject);
  socket.once("data", () => {
    socket.pause();
    resolve();
  });
  socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`);
  await promise;
  return { end: () => socket.destroy() };
}

/** Files without a name that answers are sent from, as Linux shows them. */
function openAnswers(): string[] {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.includes("/.answer-"));
}
