import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { hostileHtml } from "../support/hostile-html.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, goTo, signedIn } from "./support.ts";

/** What a stranger's server was asked for. */
const reached: string[] = [];
const stranger = Bun.serve({
  port: 0,
  fetch(request) {
    reached.push(new URL(request.url).pathname);
    return new Response("");
  },
});
const count = 300;
const seed = 20_261_123;
const mails = hostileHtml(count, seed, `http://127.0.0.1:${stranger.port}`);

describe.skipIf(chromiumPath === undefined)("Three hundred hostile mails", () => {
  let browser: Browser;
  let world: World;
  let ada: WorldInbox;
  /** By the place of the mail in `mails`. */
  const ids = new Map<number, string>();
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld()]);
    ada = await world.inbox("ada");
    for (let first = 0; first < count; first += 20) {
      await Promise.all(
        mails.slice(first, first + 20).map((html, place) => arrive(world, ada, { subject: `${first + place}`, html })),
      );
    }
    for (let offset = 0; offset < count; offset += 100) {
      const { body } = await world.api(`/v1/inboxes/${ada.id}/messages?limit=100&offset=${offset}`);
      for (const { id, subject } of body.data) ids.set(Number(subject), id);
    }
    expect(ids.size).toBe(count);
  }, 120_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    await stranger.stop(true);
  });

  test("ask nobody, say nothing and lead nowhere in the frames of the console, which stays usable", async () => {
    const { page } = await signedIn(browser, world);
    const told = watch(page);
    const threadId = await arrive(world, ada, { subject: "Calm", html: "<p>the end</p>" });
    await goTo(page, world, `threads/${threadId}`);
    await page.frameLocator(".paper iframe").getByText("the end").waitFor();
    const sandbox = (await page.locator(".paper iframe").getAttribute("sandbox")) ?? "";
    expect(await page.evaluate(framed, { pages: pagesOf(ids), sandbox })).toEqual([]);
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByRole("button", { name: "Mark unread" }).waitFor();
    expect(told).toEqual([]);
    expect(reached).toEqual([]);
    expect(await page.title()).not.toContain("taken");
    expect(page.url()).toBe(consoleOf(world, `threads/${threadId}`).href);
  }, 120_000);

  test("are tame without the browser's policy and without the frame's sandbox", async () => {
    const { page } = await signedIn(browser, world, "", { bypassCSP: true });
    const told = watch(page);
    expect(await page.evaluate(framed, { pages: pagesOf(ids), sandbox: undefined })).toEqual([]);
    expect([told, reached]).toEqual([[], []]);
    expect(page.url()).toBe(consoleOf(world).href);
  }, 120_000);

  test("are as tame as pages of their own", async () => {
    const { page } = await signedIn(browser, world);
    const told = watch(page);
    for (const address of pagesOf(ids)) await page.goto(new URL(address, world.service.apiUrl).href);
    expect([told, reached]).toEqual([[], []]);
  }, 120_000);
});

const pagesOf = (ids: ReadonlyMap<number, string>) => [...ids.values()].map((id) => `/v1/messages/${id}/html`);

/** What the page tells, opens, or asks anybody but this service for, as it comes. */
function watch(page: Page): string[] {
  const own = new URL(page.url()).origin;
  const told: string[] = [];
  page.on("dialog", (dialog) => {
    told.push(`says ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", (opened) => void told.push(`opens ${opened.url()}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== own && protocol !== "data:") told.push(`asks ${request.url()}`);
  });
  page.on("framenavigated", (frame) => {
    const url = frame.url();
    if (!url.startsWith(own) && url !== "about:blank") told.push(`goes to ${url}`);
  });
  return told;
}

/** Runs in the page: shows each in a frame, and answers what is there that could act. */
async function framed({ pages, sandbox }: { pages: string[]; sandbox: string | undefined }): Promise<string[]> {
  const faults: string[] = [];
  const acting =
    "script, iframe, frame, object, embed, applet, form, input, button, select, textarea, meta[http-equiv], base, link, svg, math, template, video, audio, dialog";
  const frames = pages.map((src) => {
    const frame = document.createElement("iframe");
    if (sandbox !== undefined) frame.setAttribute("sandbox", sandbox);
    frame.src = src;
    return frame;
  });
  await Promise.all(
    frames.map((frame) => {
      const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
      document.body.append(frame);
      return loaded;
    }),
  );
  // What was begun while they loaded has its turn.
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  for (const frame of frames) {
    const inside = frame.contentDocument;
    if (inside?.body == null || new URL(inside.URL).pathname !== new URL(frame.src).pathname) {
      faults.push(`${frame.src} went elsewhere`);
      continue;
    }
    const mail = inside.getElementById("mail")?.shadowRoot;
    if (mail == null) faults.push(`${frame.src} shows no mail`);
    for (const element of [...inside.querySelectorAll("*"), ...(mail?.querySelectorAll("*") ?? [])]) {
      const acts = [...element.attributes].filter(
        ({ name, value }) => name.startsWith("on") || /^\s*(javascript|vbscript):/i.test(value),
      );
      if (element.matches(acting) || acts.length > 0)
        faults.push(`${frame.src} has ${element.outerHTML.slice(0, 200)}`);
      if (element.matches("a[href]:not([target=_blank])")) faults.push(`${frame.src} leads in its own frame`);
    }
  }
  for (const frame of frames) frame.remove();
  return faults.slice(0, 10);
}
