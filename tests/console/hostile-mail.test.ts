import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { hostileHtml } from "../support/hostile-html.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

/** The requests that reached the stranger's server. */
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

describeInBrowser("Three hundred hostile mails", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  /** The ids of the messages by their index in `mails`. */
  const ids = new Map<number, string>();
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    for (let first = 0; first < count; first += 20) {
      await Promise.all(
        mails
          .slice(first, first + 20)
          .map((html, index) => arrive(setup.world, ada, { subject: `${first + index}`, html })),
      );
    }
    for (let offset = 0; offset < count; offset += 100) {
      const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/messages?limit=100&offset=${offset}`);
      for (const { id, subject } of body.data) ids.set(Number(subject), id);
    }
    expect(ids.size).toBe(count);
  }, 120_000);
  afterAll(() => stranger.stop(true));

  test("send no request, open no dialog and navigate nowhere in the frames of the console, which stays usable", async () => {
    const { page } = await signedIn(setup);
    const seen = watch(page);
    const threadId = await arrive(setup.world, ada, { subject: "Calm", html: "<p>the end</p>" });
    await goTo(page, `threads/${threadId}`);
    await page.frameLocator(".paper iframe").getByText("the end").waitFor();
    const sandbox = (await page.locator(".paper iframe").getAttribute("sandbox")) ?? "";
    expect(await page.evaluate(framed, { pages: pagesOf(ids), sandbox })).toEqual([]);
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByRole("button", { name: "Mark unread" }).waitFor();
    expect(seen).toEqual([]);
    expect(reached).toEqual([]);
    expect(await page.title()).not.toContain("taken");
    expect(page.url()).toBe(consoleOf(setup.world, `threads/${threadId}`).href);
  }, 120_000);

  test("do nothing without the content security policy and the frame's sandbox", async () => {
    const { page } = await signedIn(setup, "", { bypassCSP: true });
    const seen = watch(page);
    expect(await page.evaluate(framed, { pages: pagesOf(ids), sandbox: undefined })).toEqual([]);
    expect([seen, reached]).toEqual([[], []]);
    expect(page.url()).toBe(consoleOf(setup.world).href);
  }, 120_000);

  test("do nothing as pages of their own", async () => {
    const { page } = await signedIn(setup);
    const seen = watch(page);
    for (const address of pagesOf(ids)) await page.goto(new URL(address, setup.world.service.apiUrl).href);
    expect([seen, reached]).toEqual([[], []]);
  }, 120_000);
});

const pagesOf = (ids: ReadonlyMap<number, string>) => [...ids.values()].map((id) => `/v1/messages/${id}/html`);

/** Collects the dialogs, popups, foreign requests and foreign navigations of a page. */
function watch(page: Page): string[] {
  const own = new URL(page.url()).origin;
  const seen: string[] = [];
  page.on("dialog", (dialog) => {
    seen.push(`says ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("popup", (opened) => void seen.push(`opens ${opened.url()}`));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== own && protocol !== "data:") seen.push(`asks ${request.url()}`);
  });
  page.on("framenavigated", (frame) => {
    const url = frame.url();
    if (!url.startsWith(own) && url !== "about:blank") seen.push(`goes to ${url}`);
  });
  return seen;
}

/** Runs in the page: shows each mail in a frame and returns the elements in it that could act. */
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
  // Lets tasks finish that began during loading.
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
