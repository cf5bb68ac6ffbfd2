import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The frame of a mail", () => {
  const setup = setUpConsole({ database: "embedded" });
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
  }, 60_000);

  async function shown(html: string): Promise<Page> {
    const threadId = await arrive(setup.world, ada, { subject: "Look", html: `${html}<p id=end>the end</p>` });
    const { page } = await signedIn(setup, `threads/${threadId}`);
    await page.frameLocator(".paper iframe").getByText("the end").waitFor({ state: "attached" });
    return page;
  }

  /** The heights of the frame in 60 paints of the browser. */
  function heightsIn(page: Page): Promise<number[]> {
    return page.evaluate(async () => {
      const heights: number[] = [];
      for (let count = 0; count < 60; count += 1) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        heights.push(document.querySelector(".paper iframe")?.getBoundingClientRect().height ?? 0);
      }
      return heights;
    });
  }

  const growing: readonly [how: string, html: string][] = [
    ["the height of the window", "<style>body{min-height:110vh}</style>"],
    ["the height of the window, in the whole document", "<style>html{height:110dvh} :root{min-height:110vmax}</style>"],
    [
      "the height of the window, in an element",
      `<div style="height:calc(100vh + 1px)">x</div><table height="110%"></table>`,
    ],
    ["the height of its document", "<style>html,body{height:110%;min-height:110%}</style>"],
    ["the height of a container", "<style>div{height:110cqh;padding-bottom:10cqmax}</style><div>x</div>"],
  ];
  test.each(growing)(
    "does not grow with %s",
    async (_, html) => {
      const page = await shown(html);
      const heights = await heightsIn(page);
      expect(heights.at(-1)).toBeLessThan(1_200);
      expect(heights.at(-1)).toBe(heights[30]);
    },
    60_000,
  );

  test("does not shrink and grow in turns if the styles depend on the height of the window", async () => {
    const page = await shown(
      "<style>p{height:900px} @media (min-height:500px){p{height:10px}} @media (min-height:700px){p{height:20px}}</style>",
    );
    const heights = await heightsIn(page);
    expect(new Set(heights.slice(30)).size).toBe(1);
  }, 60_000);

  test("is at most 20,000 pixels high, and scrolls a longer mail", async () => {
    const page = await shown(`<div style="height:50000px">high</div>`);
    await page.waitForFunction(
      () => document.querySelector(".paper iframe")?.getBoundingClientRect().height === 20_000,
    );
    const end = page.frameLocator(".paper iframe").locator("#end");
    await end.scrollIntoViewIfNeeded();
    await page.waitForFunction(() => {
      const inside = document.querySelector<HTMLIFrameElement>(".paper iframe")?.contentWindow;
      return (inside?.scrollY ?? 0) > 25_000;
    });
  }, 60_000);

  test("keeps the columns of a wide table, and scrolls sideways", async () => {
    const cells = Array.from({ length: 12 }, (_, index) => `<td>Quarter${index} Zwischensumme</td>`).join("");
    const page = await shown(`<table border=1><tr>${cells}</tr></table>`);
    await page.setViewportSize({ width: 390, height: 800 });
    const mail = page.frameLocator(".paper iframe");
    const heights = await mail.locator("td").evaluateAll((cells) => cells.map(({ clientHeight }) => clientHeight));
    // Two lines: the words stay whole.
    expect(Math.max(...heights)).toBeLessThan(60);
    expect(await mail.locator("#box").evaluate((box) => box.scrollWidth > box.clientWidth)).toBe(true);
    await page.context().close();
  }, 60_000);

  test("fits a newsletter of a fixed width to a phone", async () => {
    const image = `<img width=600 height=200 src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">`;
    const page = await shown(
      `<table width=600 style="min-width:600px"><tr><td width=600>${image}<p style="width:600px">${"Words ".repeat(50)}</p></td></tr></table>`,
    );
    await page.setViewportSize({ width: 390, height: 800 });
    const box = page.frameLocator(".paper iframe").locator("#box");
    expect(await box.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    expect(await box.evaluate(({ clientWidth }) => clientWidth)).toBeGreaterThan(300);
    await page.context().close();
  }, 60_000);

  test("is as high as its mail, and counts the remote pictures", async () => {
    const page = await shown(`<img src="https://a.example/1.png"><img src="https://a.example/2.png">`);
    await page.getByRole("button", { name: "Show remote images (2)" }).waitFor();
    const [height = 0] = (await heightsIn(page)).slice(-1);
    expect(height).toBeLessThan(200);
  }, 60_000);
});
