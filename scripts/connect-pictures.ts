/**
 * `bun scripts/connect-pictures.ts`: the pictures of docs/connect.md, taken from a service with an empty database. A Chromium signs in,
 * allows a program the access, and shows it in the console.
 */
import { startBrowser } from "../tests/support/browser.ts";
import { verifier } from "../tests/support/connecting.ts";
import { startWorld } from "../tests/support/world.ts";

const directory = new URL("../docs/connect/", import.meta.url).pathname;
const callback = "https://claude.ai/api/mcp/auth_callback";

await using world = await startWorld({ database: "embedded" });
await using browser = await startBrowser();
const { apiUrl } = world.service;
await world.inbox("ada");
const registered = await world.api("/oauth/register", {
  method: "POST",
  apiKey: null,
  body: { client_name: "Claude", redirect_uris: [callback] },
});
const question = new URL("/oauth/authorize", apiUrl);
question.search = String(
  new URLSearchParams({
    response_type: "code",
    client_id: registered.body.client_id,
    redirect_uri: callback,
    code_challenge: new Bun.CryptoHasher("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: `${apiUrl.origin}/mcp/connect`,
  }),
);
const { page } = await browser.open(question, { width: 640, height: 400 });
await page.getByRole("heading", { name: "Sign in to inboxd first" }).waitFor();
await page.screenshot({ path: `${directory}sign-in.png`, fullPage: true });
await page.getByRole("link", { name: "sign in with an API key" }).click();
await page.fill("#key", world.apiKey);
await page.press("#key", "Enter");
await page.getByRole("heading", { name: "Connect a program" }).waitFor();
await page.screenshot({ path: `${directory}consent.png`, fullPage: true });
await page.route("https://claude.ai/**", (route) => route.fulfill({ body: "" }));
await page.getByRole("button", { name: "Allow" }).click();
await page.waitForURL(`${callback}**`);
const code = new URL(page.url()).searchParams.get("code") ?? "";
await fetch(new URL("/oauth/token", apiUrl), {
  method: "POST",
  body: new URLSearchParams({
    grant_type: "authorization_code",
    code,
    client_id: registered.body.client_id,
    redirect_uri: callback,
    code_verifier: verifier,
  }),
});
await page.setViewportSize({ width: 1000, height: 600 });
await page.goto(new URL("/console/keys", apiUrl).href);
await page.getByRole("heading", { name: "Connected programs" }).waitFor();
await page.getByText("claude.ai").waitFor();
await page.screenshot({ path: `${directory}connected.png`, clip: { x: 216, y: 0, width: 784, height: 376 } });
process.exit(0);
