import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { takeIn } from "../../support/arrivals.ts";
import { type Browser, chromiumPath, startBrowser } from "../../support/browser.ts";
import { startWorld, type World, type WorldInbox } from "../../support/world.ts";

let world: World;
let ada: WorldInbox;
const reached: string[] = [];
const tracker = Bun.serve({
  port: 0,
  fetch(request) {
    reached.push(new URL(request.url).pathname);
    return new Response("");
  },
});
const evil = `http://127.0.0.1:${tracker.port}`;

beforeAll(async () => {
  world = await startWorld({ env: { SENDS_PER_MINUTE: "0" } });
  ada = await world.inbox("ada");
}, 60_000);
afterAll(async () => {
  await tracker.stop(true);
  await world[Symbol.asyncDispose]();
});

/** The path of the page of a mail with this HTML. */
async function pathOf(html: string, more: readonly string[] = []): Promise<string> {
  const type = more.length === 0 ? "text/html; charset=utf-8" : "multipart/related; boundary=b";
  const body =
    more.length === 0 ? [html] : ["--b", "Content-Type: text/html; charset=utf-8", "", html, ...more, "--b--"];
  const lines = ["From: jane@example.com", "Subject: Look", "MIME-Version: 1.0", `Content-Type: ${type}`, "", ...body];
  expect(await world.deliver(`${lines.join("\r\n")}\r\n`, ada.address)).toStartWith("250");
  const { body: list } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
  return `/v1/messages/${list.data[0].id}/html`;
}

async function pageOf(html: string, query = ""): Promise<string> {
  return (await world.fetch(`${await pathOf(html)}${query}`)).text();
}

const hostile: readonly string[] = [
  `<script>alert(1)</script><script src="${evil}/s.js"></script>`,
  `<img src=x onerror="alert(1)"><body onload=alert(1)>`,
  `<svg onload=alert(1)><image href="${evil}/svg"/><script>alert(1)</script></svg>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`,
  `<style>@import url(${evil}/css); body{background:url(${evil}/bg)} @font-face{font-family:x;src:url(${evil}/font)}</style>`,
  `<style>@im\\70ort "${evil}/escaped"; p{background:u\\72l(${evil}/escaped)}</style><p>x</p>`,
  `<style></*x*/style><script>alert(1)</script></style>`,
  `<div style="background:url('${evil}/style')">x</div><td background="${evil}/td">`,
  `<form action="${evil}/form"><input autofocus onfocus=alert(1)><button>go</button></form>`,
  `<meta http-equiv=refresh content="0;url=${evil}/refresh"><base href="${evil}/"><link rel=stylesheet href="${evil}/l">`,
  `<iframe src="${evil}/frame"></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe><frameset><frame src="${evil}/f">`,
  `<object data="${evil}/o"></object><embed src="${evil}/e"><video src="${evil}/v" autoplay></video><audio src="${evil}/a">`,
  `<a href="javascript:alert(1)">a</a><a href="java&#9;script:alert(1)">b</a><a href="&#x6A;avascript:alert(1)">c</a><a href=data:text/html,x>d</a>`,
  `<img src="${evil}/i" srcset="${evil}/set 2x"><picture><source srcset="${evil}/p"><img src="${evil}/q"></picture>`,
  `<img src="data:image/svg+xml,<svg onload=alert(1)>"><img src="/v1/inboxes"><img src="//127.0.0.1:${tracker.port}/rel">`,
  `<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript><textarea></textarea><img src=x onerror=alert(1)>`,
  `<table><tr><td><a href="http://x/"><table><a href="http://y/" onclick=alert(1)>`,
  `${"<div><b>".repeat(20_000)}deep`,
  `<p id="</p><script>alert(1)</script>" title='"><script>alert(1)</script>'>t</p>`,
  `<xmp><script>alert(1)</script></xmp><plaintext><script>alert(1)</script>`,
];

describe("A message as a page", () => {
  test("comes with a policy that lets nothing run and nothing be fetched from elsewhere", async () => {
    const path = await pathOf("<p>Hello</p>");
    const none = await world.fetch(path);
    expect(none.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(none.headers.get("content-security-policy")).toBe(
      "sandbox allow-popups allow-popups-to-escape-sandbox allow-same-origin; default-src 'none'; script-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; frame-ancestors 'self'",
    );
    const remote = await world.fetch(`${path}?images=remote`);
    expect(remote.headers.get("content-security-policy")).toContain("img-src 'self' data: https: http:;");
    expect((await world.fetch(`${path}?images=all`)).status).toBe(400);
    expect((await world.fetch("/v1/messages/msg_none/html")).status).toBe(404);
    expect((await world.fetch(path, { apiKey: null })).status).toBe(401);
  });

  test.each(hostile)("has nothing in it that acts or fetches: %#", async (html) => {
    const found: string[] = [];
    const page = await pageOf(html);
    const acts =
      /^(?:script|iframe|frame|frameset|form|input|button|meta|base|link|object|embed|svg|math|video|audio|source)$/;
    await new HTMLRewriter()
      .on("*", {
        element({ tagName, attributes }) {
          if (acts.test(tagName)) found.push(tagName);
          for (const [name = "", value = ""] of attributes) {
            if (/^on|^src(?:set|doc)$|^action$|^background$/i.test(name)) found.push(`${tagName} ${name}`);
            if (name === "href" && !/^(?:https?|mailto|tel):/.test(value)) found.push(value);
            if (name === "style" && value.includes(evil)) found.push(value);
            if (name === "src") found.push(value);
          }
        },
      })
      .transform(new Response(page))
      .text();
    expect(found).toEqual([]);
    expect(page).not.toMatch(/@import|url\(/i);
  });

  test("links to where its own pictures are, and names those of others only when asked", async () => {
    const picture = [
      "",
      "--b",
      "Content-Type: image/png",
      "Content-ID: <logo@x>",
      "Content-Disposition: inline; filename=l.png",
      "",
      "png",
    ];
    const path = await pathOf(`<img src="cid:logo@x"><img src="${evil}/remote">`, picture);
    const page = await (await world.fetch(path)).text();
    expect(page).toContain("<img data-remote>");
    const [, source = ""] = /src="([^"]+)"/.exec(page) ?? [];
    const address = new URL(source.replaceAll("&amp;", "&"), new URL(path, world.service.apiUrl));
    expect((await fetch(address)).status).toBe(200);
    expect(await (await world.fetch(`${path}?images=remote`)).text()).toContain(`src="${evil}/remote"`);
  });

  test("opens links apart, and says where one leads whose words name another host", async () => {
    const page = await pageOf(
      `<a href="https://evil.example/x">www.bank.example</a> <a href="https://bank.example/y">www.bank.example</a>`,
    );
    expect(page).toContain('href="https://evil.example/x" target="_blank" rel="noopener noreferrer"');
    expect(page).toMatch(/<\/a> <span style="[^"]+">\[https:\/\/evil\.example\/x\]<\/span>/);
    expect(page).not.toContain("[https://bank.example/y]");
  });

  test("is its text, with links, where the mail has no HTML", async () => {
    const raw = "From: a@example.com\r\nSubject: t\r\n\r\nSee <b> https://example.com/a?b=1&c=2.\r\n";
    expect(await world.deliver(raw, ada.address)).toStartWith("250");
    const { body } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
    const page = await (await world.fetch(`/v1/messages/${body.data[0].id}/html`)).text();
    expect(page).toContain('See &lt;b&gt; <a href="https://example.com/a?b=1&amp;c=2"');
  });

  test("is cut where it is too long, and says so", async () => {
    // As it is stored: to read so many elements out of a mail may take longer than a mail is given.
    await takeIn(world.service.deps, ada, [{ bodyHtml: "<p>&amp;word</p>\n".repeat(130_000) }]);
    const { body: list } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
    const page = await (await world.fetch(`/v1/messages/${list.data[0].id}/html`)).text();
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(2 << 20);
    expect(page.slice(-200)).toContain("The rest of this message is not shown");
  }, 60_000);
});

describe.skipIf(chromiumPath === undefined)("In a real browser a hostile message", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 120_000);
  afterAll(() => browser?.[Symbol.asyncDispose]());

  test("asks nobody, says nothing and goes nowhere", async () => {
    const { page } = await browser.open(new URL("/favicon.svg", world.service.apiUrl));
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    await page.setExtraHTTPHeaders({ authorization: `Bearer ${world.apiKey}` });
    reached.length = 0;
    for (const html of hostile) {
      const address = new URL(await pathOf(html), world.service.apiUrl).href;
      await page.goto(address, { waitUntil: "load" });
      expect(page.url()).toBe(address);
    }
    expect({ dialogs, reached }).toEqual({ dialogs: [], reached: [] });
  }, 120_000);
});
