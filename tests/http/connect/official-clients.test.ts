import { afterAll, beforeAll, expect, test } from "bun:test";
import * as current from "@modelcontextprotocol/client";
import { Client as ClientBefore } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportBefore } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { pageFaults } from "../../console/page-faults.ts";
import { describeInBrowser, setUpConsole } from "../../console/support.ts";
import { redirectUri, register } from "../../support/connecting.ts";
import { failureOf } from "../../support/failure.ts";

/*
 * The two generations of the official client sign in from nothing, with a person at a real browser: by the address of a metadata document,
 * and by registration.
 */

const looks = [
  [360, "light"],
  [360, "dark"],
  [1400, "light"],
  [1400, "dark"],
] as const;

const generations = {
  "the client of 2026": { Client: current.Client, Transport: current.StreamableHTTPClientTransport },
  "the SDK of before": { Client: ClientBefore, Transport: TransportBefore },
} as const;

describeInBrowser("Signing in with an official client of MCP", () => {
  const setup = setUpConsole({ database: "embedded", env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
  let programs: Bun.Server<undefined>;
  /** The address that the browser was led back to. */
  let ledBack: PromiseWithResolvers<URL>;
  beforeAll(() => {
    ledBack = Promise.withResolvers();
    programs = Bun.serve({
      port: 0,
      fetch(request) {
        const url = new URL(request.url);
        if (url.pathname === "/client.json") {
          const client_id = `${url.origin}/client.json`;
          return Response.json({
            client_id,
            client_name: "Document program",
            redirect_uris: [`${url.origin}/callback`],
          });
        }
        // A page of another site: `localhost` is another site than 127.0.0.1.
        if (url.pathname === "/start")
          return new Response(`<a href="${Bun.escapeHTML(url.searchParams.get("to") ?? "")}">Connect</a>`, {
            headers: { "content-type": "text/html" },
          });
        if (url.pathname === "/callback") ledBack.resolve(url);
        return new Response("You may close this page.");
      },
    });
  });
  afterAll(() => programs.stop(true));

  /** A program that remembers what the client hands it. */
  function provider(byDocument: boolean) {
    const callback = `http://127.0.0.1:${programs.port}/callback`;
    const kept = {} as { client?: object; tokens?: Record<string, unknown>; verifier?: string; question?: URL };
    return {
      kept,
      provider: {
        redirectUrl: callback,
        clientMetadata: { client_name: "Registered program", redirect_uris: [callback] },
        // The clients take the address of a document only over https, so here it is the id that the program knows from the start.
        clientInformation: () =>
          byDocument ? { client_id: `http://127.0.0.1:${programs.port}/client.json` } : kept.client,
        saveClientInformation: (client: object) => {
          kept.client = client;
        },
        tokens: () => kept.tokens,
        saveTokens: (tokens: Record<string, unknown>) => {
          kept.tokens = tokens;
        },
        redirectToAuthorization: (question: URL) => {
          kept.question = question;
        },
        saveCodeVerifier: (verifier: string) => {
          kept.verifier = verifier;
        },
        codeVerifier: () => kept.verifier ?? "",
        // biome-ignore lint/suspicious/noExplicitAny: the two generations differ in the types of what is kept, which is JSON
      } as any,
    };
  }

  /** A person follows a link of the program's site, signs in with a key, and allows the access. */
  async function consent(question: URL): Promise<URL> {
    ledBack = Promise.withResolvers();
    const start = new URL(`http://localhost:${programs.port}/start`);
    start.searchParams.set("to", question.href);
    const { page, faults } = await setup.browser.open(start);
    await page.getByRole("link", { name: "Connect" }).click();
    await page.getByRole("heading", { name: "Sign in to inboxd first" }).waitFor();
    await page.getByRole("link", { name: "sign in with an API key" }).click();
    await page.fill("#key", setup.world.apiKey);
    await page.press("#key", "Enter");
    await page.getByRole("heading", { name: "Connect a program" }).waitFor();
    await page.getByText("127.0.0.1").first().waitFor();
    await page.getByRole("radio", { name: "Read messages" }).check();
    await page.getByRole("button", { name: "Allow" }).click();
    const url = await ledBack.promise;
    // The console asks once whether there is a session.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
    await page.context().close();
    return url;
  }

  for (const [name, { Client, Transport }] of Object.entries(generations)) {
    for (const byDocument of [false, true]) {
      test(`${name} signs in by ${byDocument ? "its metadata document" : "registration"}, refreshes, and is revoked`, async () => {
        const { kept, provider: authProvider } = provider(byDocument);
        const url = new URL("/mcp/connect", setup.world.service.apiUrl);
        const open = () => new Transport(url, { authProvider });
        // biome-ignore lint/suspicious/noExplicitAny: a client of each generation takes the transport of its own
        const connected = async (transport: any) => {
          const client = new Client({ name: "test", version: "1" }, {});
          await client.connect(transport);
          return client;
        };
        const first = open();
        expect(await failureOf(connected(first))).toBeInstanceOf(Error);
        if (kept.question === undefined) throw new Error("The client has not asked its person");
        const back = await consent(kept.question);
        expect(back.searchParams.get("iss")).toBe(`${setup.world.service.apiUrl.origin}/oauth`);
        await first.finishAuth(back.searchParams.get("code") ?? "", back.searchParams.get("iss") ?? "");
        const client = await connected(open());
        const { tools } = await client.listTools();
        expect(tools.map((tool) => tool.name)).toContain("list_inboxes");
        await client.close();
        expect(kept.tokens).toMatchObject({ scope: "read" });

        // An access token that has expired: the client gets another one by itself.
        const used = kept.tokens?.access_token;
        setup.world.clock.pass(3_600_000);
        const later = await connected(open());
        expect((await later.listTools()).tools.length).toBeGreaterThan(0);
        expect(kept.tokens?.access_token).not.toBe(used);

        const { body } = await setup.world.api("/v1/grants?limit=1");
        expect(body.data[0].client.name).toBe(byDocument ? "Document program" : "Registered program");
        await setup.world.api(`/v1/grants/${body.data[0].id}`, { method: "DELETE" });
        expect(await failureOf(later.listTools())).toBeInstanceOf(Error);
      }, 60_000);
    }
  }

  test("shows pages without a violation, on a phone and a desktop, light and dark", async () => {
    const { apiUrl } = setup.world.service;
    await setup.world.inbox("ada");
    const { body: program } = await register(setup.world);
    const question = new URL(
      `/oauth/authorize?${new URLSearchParams({
        response_type: "code",
        client_id: program.client_id,
        redirect_uri: redirectUri,
        code_challenge: "c".repeat(43),
        code_challenge_method: "S256",
        resource: `${apiUrl.origin}/mcp/connect`,
      })}`,
      apiUrl,
    );
    const { page } = await setup.browser.open(question);
    const found: unknown[] = [];
    const look = async (what: string) => {
      for (const [width, colorScheme] of looks) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        found.push(...(await pageFaults(page)).map((fault) => [what, width, colorScheme, fault]));
        if (process.env.SCREENSHOTS)
          await page.screenshot({
            path: `${process.env.SCREENSHOTS}/${what}-${width}-${colorScheme}.png`,
            fullPage: true,
          });
      }
    };
    await page.getByRole("heading", { name: "Sign in to inboxd first" }).waitFor();
    await look("sign-in");
    await page.getByRole("link", { name: "sign in with an API key" }).click();
    await page.fill("#key", setup.world.apiKey);
    await page.press("#key", "Enter");
    await page.getByRole("heading", { name: "Connect a program" }).waitFor();
    await look("consent");
    await page.getByRole("radio", { name: "One inbox" }).check();
    await page.getByLabel("Address of the inbox").fill("nobody@inbox.localhost");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText('There is no inbox with the address "nobody@inbox.localhost".').waitFor();
    await look("fault");
    await page.goto(question.href.replace("ocl_", "ocx_"));
    await page.getByRole("heading", { name: "This program cannot connect" }).waitFor();
    await look("refused");
    expect(found).toEqual([]);
  }, 60_000);
});
