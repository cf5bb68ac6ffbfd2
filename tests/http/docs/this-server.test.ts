import { expect, test } from "bun:test";
import { guidePages, guidesOf } from "../../../src/http/docs/guide-pages.ts";
import { namedAfter, smtpAddress, type ThisServer } from "../../../src/http/docs/this-server.ts";
import { startWorld } from "../../support/world.ts";

const server: ThisServer = { baseUrl: "https://post.acme.example/mail", mailDomain: "acme.example", smtp: "mx:25" };

test.each([
  ["http://127.0.0.1:3000/v1/inboxes", "https://post.acme.example/mail/v1/inboxes"],
  ["url=https://mail.example.com/mcp", "url=https://post.acme.example/mail/mcp"],
  ["smtp://127.0.0.1:2525 --crlf", "smtp://mx:25 --crlf"],
  ["<ada@inbox.localhost>", "<ada@acme.example>"],
  ["http://127.0.0.1:8080/hook", "http://127.0.0.1:8080/hook"],
  ["http://127.0.0.1:30001", "http://127.0.0.1:30001"],
  ["https://mail.example.community", "https://mail.example.community"],
  ["<CAF1@mail.example.com>", "<CAF1@mail.example.com>"],
])("%p becomes %p", (written, served) => {
  expect(namedAfter(server, written)).toBe(served);
});

test("a name of the server that contains an example is not replaced again", () => {
  const odd = { ...server, mailDomain: "a.inbox.localhost" };
  expect(namedAfter(odd, "ada@inbox.localhost")).toBe("ada@a.inbox.localhost");
});

test("no guide names another server", () => {
  const all = Object.values(guidesOf(server));
  expect(all.length).toBe(Object.keys(guidePages).length);
  const left = all.flatMap(
    ({ text }) =>
      text.match(/(?:\/\/127\.0\.0\.1:3000|127\.0\.0\.1:2525)|inbox\.(?:localhost|example\.\w+)|YOUR-\w+/g) ?? [],
  );
  expect(left).toEqual([]);
  const names = all.map(({ text }) => text).join("\n");
  for (const name of ["https://post.acme.example/mail/v1/inboxes", "smtp://mx:25", "grace@acme.example"])
    expect(names).toContain(name);
});

test.each([
  ["127.0.0.1", "mx.acme.example", "127.0.0.1:2525"],
  ["::1", "mx.acme.example", "[::1]:2525"],
  ["0.0.0.0", "mx.acme.example", "mx.acme.example:2525"],
  ["::", "inbox.localhost", "127.0.0.1:2525"],
])("a listener on %s with the name %s is reached at %s", (host, hostname, address) => {
  expect(smtpAddress({ host, hostname, port: 2525 })).toBe(address);
});

test("the page names the server that serves it, in guides and in examples", async () => {
  const env = { BASE_URL: "https://post.acme.example", MAIL_DOMAIN: "acme.example" };
  await using world = await startWorld({ env });
  for (const path of ["/docs", "/llms-full.txt"]) {
    const text = await (await world.fetch(path, { apiKey: null })).text();
    expect(text).toContain("https://post.acme.example/v1/inboxes");
    expect(text).toContain(`smtp://127.0.0.1:${world.service.smtp.port}`);
    expect(text).toContain("grace@acme.example");
    expect(text.match(/(?:\/\/127\.0\.0\.1:3000|127\.0\.0\.1:2525)|inbox\.(?:localhost|example\.com)/g)).toBeNull();
  }
  expect(await (await world.fetch("/docs", { apiKey: null })).text()).toContain("ada@acme.example");
});
