import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { takeIn } from "../../../support/arrivals.ts";
import { type Browser, chromiumPath, startBrowser } from "../../../support/browser.ts";
import { startWorld, type World, type WorldInbox } from "../../../support/world.ts";

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

/** The lines of the list above the mail. */
function listed(page: string): string[] {
  return [...page.matchAll(/<li>(.*?)<\/li>/g)]
    .slice(0, 50)
    .flatMap(([, line = ""]) => (page.includes('id="links"') ? line.replaceAll(/<\/?b>/g, "") : []));
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
  test("leaves out quotes and signature on request, in HTML and in text", async () => {
    const html = "<p>The answer</p><blockquote type=cite><p>The question</p></blockquote>";
    const text = "The answer\r\n\r\nOn Friday, Joe wrote:\r\n> The question";
    for (const [type, body] of [
      ["html", html],
      ["plain", text],
    ] as const) {
      const head = ["From: jane@example.com", "Subject: Re: Look", "In-Reply-To: <1@example.com>", "MIME-Version: 1.0"];
      const mail = [...head, `Content-Type: text/${type}; charset=utf-8`, "", body, ""].join("\r\n");
      expect(await world.deliver(mail, ada.address)).toStartWith("250");
      const { body: list } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
      const page = async (query: string) => (await world.fetch(`/v1/messages/${list.data[0].id}/html${query}`)).text();
      expect(await page("")).toContain("The question");
      const shown = await page("?quotes=hidden");
      expect([type, shown.includes("The answer"), shown.includes("The question")]).toEqual([type, true, false]);
    }
  });

  test("has a policy that allows no scripts and no foreign requests", async () => {
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

  test.each(hostile)("has no active content: %#", async (html) => {
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

  test("links to its own pictures, and to remote ones only on request", async () => {
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

  test("opens links in new tabs, and lists links whose text names another host above the mail", async () => {
    const page = await pageOf(
      `<a href="https://evil.example/x">www.bank.example</a> <a href="https://bank.example/y">www.bank.example</a>`,
    );
    expect(page).toContain('href="https://evil.example/x" target="_blank" rel="noopener noreferrer"');
    expect(listed(page)).toEqual(["“www.bank.example” leads to https://evil.example/x"]);
    expect(page.indexOf('id="links"')).toBeLessThan(page.indexOf("<template"));
  });

  const hidden = "a".repeat(2_000);
  const deceiving: readonly [how: string, words: string][] = [
    ["hidden letters before them", `<span style="display:none">${hidden}</span>www.bank.example`],
    ["hidden letters around them", `<i class=h>${hidden}</i>www.bank.example<i class=h>${hidden}</i>`],
    ["letters without width before them", `${"\u200b".repeat(2_000)}www.bank.example`],
    ["letters without width around them", `${"&#8203;".repeat(1_000)}www.bank.example${"&#8203;".repeat(3_000)}`],
    ["a long text before an address", `${"word ".repeat(1_000)}https://www.bank.example/login`],
    ["the words of a picture", `<img src="https://x.example/p.png" alt="www.bank.example">`],
    ["the words of a picture beside others", `Log in: <img alt="https://www.bank.example/"> now`],
    ["letters in reverse order", "\u202e/moc.knab"],
    ["letters in reverse order, as an entity", "&#x202E;/moc.knab"],
    ["elements within them", "www.ba<b>nk.exa</b>mple"],
  ];
  test.each(deceiving)("lists a deceptive link: %s", async (_, words) => {
    const [first = "", ...more] = listed(await pageOf(`<a href="https://evil.example/x">${words}</a>`));
    expect([first.endsWith(" leads to https://evil.example/x"), more]).toEqual([true, []]);
  });

  test("does not list a link whose text names its host, or no host", async () => {
    const page = await pageOf(
      `<a href="https://bank.example/y"><img alt="Bank"> www.<b>bank</b>.example</a><a href="https://bank.example/"></a>` +
        `<a href="https://t.example/">our <b>site</b>, see report.pdf</a><a name=x>www.bank.example</a>`,
    );
    expect(listed(page)).toEqual([]);
  });

  test("lists at most 20 of 10,000 such links, and stays within its size", async () => {
    const link = (index: number) =>
      `<a href="https://evil.example/${"&amp;x".repeat(60)}${index}">www.bank.example</a>`;
    await takeIn(world.service.deps, ada, [{ bodyHtml: Array.from({ length: 10_000 }, (_, at) => link(at)).join("") }]);
    const { body } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
    const page = await (await world.fetch(`/v1/messages/${body.data[0].id}/html`)).text();
    expect(listed(page)).toHaveLength(20);
    expect(Buffer.byteLength(page)).toBeLessThanOrEqual(2 << 20);
  }, 60_000);

  test("shows the text, with links, if the mail has no HTML", async () => {
    const raw = "From: a@example.com\r\nSubject: t\r\n\r\nSee <b> https://example.com/a?b=1&c=2.\r\n";
    expect(await world.deliver(raw, ada.address)).toStartWith("250");
    const { body } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
    const page = await (await world.fetch(`/v1/messages/${body.data[0].id}/html`)).text();
    expect(page).toContain('See &lt;b&gt; <a href="https://example.com/a?b=1&amp;c=2"');
  });

  test("is cut if it is too long, with a note", async () => {
    // Stored directly: parsing so many elements from a mail may take longer than allowed.
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

  /** Styles that hide what stands above the mail, move it away, or cover it. */
  const covering: readonly string[] = [
    "<style>*,html,body,div,p,ul,li,#links,#links *{display:none!important;visibility:hidden!important;opacity:0!important}</style>",
    "<style>html,body,:root{display:none!important} :root>*{font-size:0!important;color:#fff!important}</style>",
    "<style>:host{position:fixed!important;inset:0!important;z-index:2147483647!important;background:#fff!important}</style>",
    "<style>@scope (:host){:scope{position:fixed!important;inset:0!important}} :scope{margin-top:-900px!important}</style>",
    "<style>body{margin-top:-900px!important;position:absolute;top:-500px}</style>",
    `<div style="position:fixed;inset:0;z-index:2147483647;background:#fff">Nothing to see</div>`,
    `<div style="position:absolute;top:-900px;left:-900px;width:3000px;height:3000px;background:#fff">Nothing</div>`,
    `<div style="margin-top:-900px;height:2000px;background:#fff;box-shadow:0 0 0 900px #fff;outline:900px solid #fff">x</div>`,
    `<style>body{overflow:hidden;height:1px;transform:translateY(-900px) scale(9)} a{overflow:hidden}</style>`,
  ];

  test("can neither hide nor cover the list of deceptive links", async () => {
    const { page } = await browser.open(new URL("/favicon.svg", world.service.apiUrl), { width: 600, height: 500 });
    await page.setExtraHTTPHeaders({ authorization: `Bearer ${world.apiKey}` });
    const link = `<a href="https://evil.example/x">www.bank.example</a>`;
    for (const style of covering) {
      await page.goto(new URL(await pathOf(`${style}${link}`), world.service.apiUrl).href);
      const seen = await page.evaluate(() => {
        const target = document.querySelector("#links b");
        const { left, top, width, height } = target?.getBoundingClientRect() ?? new DOMRect();
        const there = document.elementFromPoint(left + width / 2, top + height / 2);
        const { opacity, visibility, color, fontSize } = getComputedStyle(target ?? document.body);
        return [
          there === target && width > 0,
          opacity,
          visibility,
          color,
          fontSize,
          document.documentElement.scrollTop,
        ];
      });
      expect([style, ...seen]).toEqual([style, true, "1", "visible", "rgb(164, 0, 0)", "15px", 0]);
    }
  }, 120_000);

  test("cannot add text by its styles", async () => {
    const { page } = await browser.open(new URL("/favicon.svg", world.service.apiUrl));
    await page.setExtraHTTPHeaders({ authorization: `Bearer ${world.apiKey}` });
    const shows = "www.bank.example";
    const styles = [
      `a::before{content:"${shows}"} a::after{c\\6fntent:"${shows}"} a::first-line{color:red}`,
      `:root{--words:"${shows}"} a::before{content:var(--words)} a{display:list-item;list-style:var(--words) inside}`,
      `a{display:list-item;list-style:"${shows}" inside} @counter-style x{system:cyclic;symbols:"${shows}"} a{list-style-type:x}`,
      `q{quotes:"${shows}" "x"}`,
    ];
    for (const style of styles) {
      const html = (css: string) => `<style>${css}</style><a href="https://evil.example/x">k<q>l</q></a>`;
      const widths: number[] = [];
      for (const css of [style.replaceAll(shows, ""), style]) {
        await page.goto(new URL(await pathOf(html(css)), world.service.apiUrl).href);
        widths.push(
          await page.evaluate(() => {
            const link = document.querySelector("#mail")?.shadowRoot?.querySelector("a");
            if (link) link.style.display = "inline-block";
            return link?.getBoundingClientRect().width ?? -1;
          }),
        );
      }
      expect([style, widths[0]]).toEqual([style, widths[1]]);
      expect(widths[1]).toBeGreaterThan(5);
    }
    await page.goto(new URL(await pathOf(`<bdo dir=rtl>elpmaxe</bdo>`), world.service.apiUrl).href);
    expect(await page.evaluate(() => document.querySelector("#mail")?.shadowRoot?.querySelector("bdo"))).toBeNull();
  }, 120_000);

  test("sends no request, opens no dialog and navigates nowhere", async () => {
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
