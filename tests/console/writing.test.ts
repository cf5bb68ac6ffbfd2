import { expect, test } from "bun:test";
import type { Page, Request } from "playwright-core";
import type { World, WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("A draft in the console", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0", ALLOW_PRIVATE_WEBHOOKS: "1" } });

  test("is sent once if the response is lost and it is sent again after a reload", async () => {
    const ada = await setup.world.inbox("reply-again");
    const threadId = await arrive(setup.world, ada, { subject: "Lost" });
    const { page } = await signedIn(setup, `threads/${threadId}`);
    await page.fill("#reply", "Only once");
    await page.route("**/send", async (route) => {
      await handOver(setup.world, route.request());
      await route.abort("connectionreset");
    });
    await page.press("#reply", "Control+Enter");
    await page.getByText("The service does not answer, so it is not known whether the mail was sent").waitFor();
    await page.unroute("**/send");

    await page.reload();
    await page.locator(".messages li").nth(1).waitFor();
    expect(await page.inputValue("#reply")).toBe("Only once");
    await page.press("#reply", "Control+Enter");
    await page.getByText("Sent to jane@example.com").waitFor();
    expect(await page.inputValue("#reply")).toBe("");
    expect(await sentBodies(setup.world, ada)).toEqual(["Only once"]);

    await page.fill("#reply", "The next one");
    await page.press("#reply", "Control+Enter");
    await page.locator(".messages li").nth(2).waitFor();
    expect(await sentBodies(setup.world, ada)).toEqual(["The next one", "Only once"]);
  });

  test("that is changed after a lost response is sent as a second mail only after a question", async () => {
    const ada = await setup.world.inbox("changed");
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    await page.fill("#to", "joe@example.com");
    await page.fill("#subject", "Two");
    await page.fill(".compose-body", "First");
    await page.route("**/send", async (route) => {
      await handOver(setup.world, route.request());
      // The answer of a proxy, with a delay that is too long for an automatic retry.
      await route.fulfill({ status: 504, headers: { "retry-after": "600" }, body: "Gateway time-out" });
    });
    await page.press(".compose-body", "Control+Enter");
    await page.getByText("The service answered 504, so it is not known whether the mail was sent").waitFor();
    await page.unroute("**/send");

    // A refusal in between does not change what is known of the first mail.
    await page.fill("#to", "joe");
    await page.press(".compose-body", "Control+Enter");
    await page.getByText("“joe” is not an email address").waitFor();
    await page.fill("#to", "joe@example.com");
    await page.fill(".compose-body", "Second");
    for (const _ of ["once", "and again"]) {
      const answer = page.waitForResponse("**/send");
      await page.press(".compose-body", "Control+Enter");
      expect((await answer).status()).toBe(422);
      await page.getByText("A mail was already sent from here").waitFor();
    }
    expect(await sentBodies(setup.world, ada)).toEqual(["First"]);
    await page.getByRole("button", { name: "Send this as another mail" }).click();
    await page.locator(".conversation-title h2", { hasText: "Two" }).waitFor();
    expect(await sentBodies(setup.world, ada)).toEqual(["Second", "First"]);
  });

  test("in the long form replies to the message that it was opened for, and leaves newer mail unread", async () => {
    const ada = await setup.world.inbox("seen");
    for (const toWhom of ["", "&all=1"]) {
      const id = `<1${toWhom}@seen>`;
      const threadId = await arrive(setup.world, ada, {
        subject: "Seen",
        text: "It was seen",
        head: [`Message-ID: ${id}`],
      });
      const [first] = await messagesOf(setup.world, threadId);
      const { page } = await signedIn(setup, `compose?thread=${threadId}&message=${first?.id}${toWhom}`);
      await page.fill(".compose-body", "My answer");
      await arrive(setup.world, ada, { subject: "Re: Seen", text: "It was not", head: [`In-Reply-To: ${id}`] });
      await page.press(".compose-body", "Control+Enter");
      await page.locator(".conversation-title h2").waitFor();
      const { body: thread } = await setup.world.api(`/v1/threads/${threadId}/messages`);
      expect([toWhom, thread.isRead, thread.total]).toEqual([toWhom, false, 3]);
      expect(thread.data[2].bodyText).toContain("> It was seen");
    }
  });

  test("cannot be changed while it is being sent", async () => {
    const ada = await setup.world.inbox("slow");
    const threadId = await arrive(setup.world, ada, { subject: "Slow" });
    const { page } = await signedIn(setup, `threads/${threadId}`);
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/send", (route) => isReleased.then(() => route.continue()));
    await page.fill("#reply", "All of it");
    const asked = page.waitForRequest("**/send");
    await page.press("#reply", "Control+Enter");
    await asked;
    await page.locator("#reply").pressSequentially(" and more");
    expect(await page.inputValue("#reply")).toBe("All of it");
    release();
    await page.getByText("Sent to jane@example.com").waitFor();
    await page.locator("#reply").pressSequentially("and more");
    expect(await page.inputValue("#reply")).toBe("and more");
    expect(await sentBodies(setup.world, ada)).toEqual(["All of it"]);
  });

  test("is never cut, and its length is counted as the service counts", async () => {
    const ada = await setup.world.inbox("long");
    const threadId = await arrive(setup.world, ada, { subject: "Long" });
    const text = "a😀".repeat(50_000);
    const { page } = await signedIn(setup, `threads/${threadId}`);
    await typeAtOnce(page, "#reply", text);
    expect((await page.inputValue("#reply")).length).toBe(text.length);
    await page.getByText("100,000 / 100,000").waitFor();
    await page.getByRole("link", { name: "More: attachments" }).click();
    await typeAtOnce(page, ".compose-body", `${text}b`);
    await page.getByText("100,001 / 100,000").waitFor();
    await page.press(".compose-body", "Control+Enter");
    await page.getByText("The text is longer than 100,000 characters").waitFor();
    expect((await page.inputValue(".compose-body")).length).toBe(text.length + 1);
    expect(await sentBodies(setup.world, ada)).toEqual([]);
  });

  test("of an endpoint creates it once, after a double click or a lost response", async () => {
    const { page } = await signedIn(setup, "webhooks");
    const addresses = async () => {
      const { body } = await setup.world.api("/v1/webhooks");
      return body.data.map(({ url }: { url: string }) => url).toSorted();
    };
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    const isPost = (request: Request) => request.method() === "POST" && request.url().endsWith("/v1/webhooks");
    await page.route("**/v1/webhooks", async (route) => {
      if (isPost(route.request())) await isReleased;
      await route.continue();
    });
    await page.getByRole("button", { name: "Add endpoint" }).click();
    await page.fill("#url", "http://127.0.0.1:65000/first");
    await page.getByRole("button", { name: "Add", exact: true }).dblclick();
    release();
    await page.locator(".endpoint", { hasText: "first" }).first().waitFor();
    expect(await addresses()).toEqual(["http://127.0.0.1:65000/first"]);
    await page.unroute("**/v1/webhooks");

    await page.route("**/v1/webhooks", async (route) => {
      if (!isPost(route.request())) return route.continue();
      await handOver(setup.world, route.request());
      return route.fulfill({ status: 504, headers: { "retry-after": "600" }, body: "Gateway time-out" });
    });
    await page.getByRole("button", { name: "Add endpoint" }).click();
    await page.fill("#url", "http://127.0.0.1:65000/second");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("answered 504").waitFor();
    await page.unroute("**/v1/webhooks");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("the response with its secret was lost").waitFor();
    expect(await addresses()).toEqual(["http://127.0.0.1:65000/first", "http://127.0.0.1:65000/second"]);
  });
});

describeInBrowser("The form for a mail", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0", SEND_MAX_BYTES: "100000" } });
  const fileOf = (name: string, sizeBytes: number) => ({
    name,
    mimeType: "application/octet-stream",
    buffer: Buffer.alloc(sizeBytes),
  });

  test("shows each fault beside its field, until the field changes", async () => {
    const ada = await setup.world.inbox("faults");
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    const submit = () => page.getByRole("button", { name: "Send" }).click();
    await page.locator(".compose").waitFor();
    await submit();
    await page.locator("#to-fault", { hasText: "Enter an address" }).waitFor();
    expect(await page.locator("#subject-fault").textContent()).toBe("Enter a subject");
    expect(await page.locator("#body-fault").textContent()).toBe("Write a text");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("to");
    await page.fill("#to", "jane@example.com, joe");
    expect(await page.locator("#to-fault").textContent()).toBe("");
    await page.fill(".compose-body", "Hello");
    await page.getByRole("button", { name: "Cc, Bcc" }).click();
    await page.fill("#bcc", "nobody");
    // With a file the mail is sent as a form.
    for (const files of [[], [fileOf("note.bin", 10)]]) {
      await page.setInputFiles("input[type=file]", files);
      await page.fill("#to", `jane@example.com, joe${files.length}`);
      await submit();
      await page.locator("#to-fault", { hasText: `“joe${files.length}” is not an email address` }).waitFor();
      expect(await page.locator("#bcc-fault").textContent()).toBe("“nobody” is not an email address");
      expect(await page.locator("#send-fault p").textContent()).toBe("Not sent: see the marked fields");
    }
    await page.context().close();
  });

  test("refuses a file that is too large when it is chosen, and takes files that are dropped on any part", async () => {
    const ada = await setup.world.inbox("files");
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    await page.setInputFiles("input[type=file]", [fileOf("small.bin", 40_000), fileOf("large.bin", 40_000)]);
    await page.locator("#files-fault", { hasText: "Not attached: large.bin (40 kB)" }).waitFor();
    const names = () => page.locator(".file .attachment-name").allTextContents();
    expect(await names()).toEqual(["small.bin"]);
    const dataTransfer = await page.evaluateHandle(() => {
      const dropped = new DataTransfer();
      dropped.items.add(new File(["x"], "dropped.txt"));
      return dropped;
    });
    await page.dispatchEvent(".compose-body", "drop", { dataTransfer });
    await page.locator(".file", { hasText: "dropped.txt" }).waitFor();
    expect(await page.locator("#files-fault").textContent()).toBe("");
    await page.fill("#to", "jane@example.com");
    await page.fill("#subject", "Two files");
    await page.fill(".compose-body", "Hello");
    await page.press(".compose-body", "Control+Enter");
    await page.locator(".attachments").waitFor();
    expect(await page.locator(".attachments .attachment-name").allTextContents()).toEqual(["small.bin", "dropped.txt"]);
    await page.context().close();
  });

  test("previews Markdown as the service converts it, with its links and without its HTML", async () => {
    const ada = await setup.world.inbox("preview");
    const { page, faults } = await signedIn(setup, `compose?inbox=${ada.id}`);
    const text =
      "# Lunch & more\n\nShall we have **lunch**?\n\n- [where](https://example.com/?a=1&b=2)\n- <b>raw</b>\n\n![the map](https://example.com/map.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |";
    await page.fill(".compose-body", text);
    await page.getByLabel("Markdown").check();
    await page.getByRole("button", { name: "Preview" }).click();
    const preview = page.locator(".markdown-preview");
    await preview.getByRole("heading", { name: "Lunch & more" }).waitFor();
    expect(await preview.locator("strong").allTextContents()).toEqual(["lunch"]);
    expect(await preview.getByRole("link", { name: "where" }).getAttribute("href")).toBe(
      "https://example.com/?a=1&b=2",
    );
    expect(await preview.locator("li").nth(1).textContent()).toContain("<b>raw</b>");
    expect(await preview.locator("p", { hasText: "[the map]" }).count()).toBe(1);
    expect(await preview.locator("td").allTextContents()).toEqual(["1", "2"]);
    await page.getByRole("button", { name: "Markdown", exact: true }).click();
    expect(await page.inputValue(".compose-body")).toBe(text);
    // The first request of the page, before signing in, fails.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
    await page.context().close();
  });

  test("asks for the link of one click, under more options, and says that this service at http has none", async () => {
    const ada = await setup.world.inbox("newsletter");
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    await page.fill("#to", "joe@example.com");
    await page.fill("#subject", "News");
    await page.fill(".compose-body", "Hello");
    await page.getByText("More options").click();
    await page.getByLabel("The recipient can unsubscribe with one click").check();
    await page.press(".compose-body", "Control+Enter");
    await page.getByText('"unsubscribe" is not available').waitFor();
    await page.getByLabel("The recipient can unsubscribe with one click").uncheck();
    await page.press(".compose-body", "Control+Enter");
    await page.locator(".messages li").first().waitFor();
    expect(await sentBodies(setup.world, ada)).toEqual(["Hello"]);
    await page.context().close();
  });

  test("offers to remove the suppression of a recipient, and then sends the mail", async () => {
    const ada = await setup.world.inbox("suppressed");
    const suppression = { address: "gone@example.com" };
    await setup.world.api("/v1/suppressions", { method: "POST", body: suppression });
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    await page.fill("#to", "gone@example.com");
    await page.fill("#subject", "Are you back?");
    await page.fill(".compose-body", "Hello");
    await page.press(".compose-body", "Control+Enter");
    const fault = page.locator("#send-fault");
    await fault.getByText("The recipient is suppressed (manual)").waitFor();
    expect(await fault.getByRole("link", { name: "Suppressions" }).getAttribute("href")).toBe("/console/suppressions");
    await fault.getByRole("button", { name: "Remove the suppression and send" }).click();
    await page.locator(".conversation-title h2", { hasText: "Are you back?" }).waitFor();
    expect((await setup.world.api("/v1/suppressions")).body.data).toEqual([]);
    await page.context().close();
  });
});

/** Passes the page's request to the service, without passing the response back. */
async function handOver(world: World, request: Request): Promise<void> {
  const headers = { "idempotency-key": request.headers()["idempotency-key"] ?? "" };
  const { status } = await world.api(new URL(request.url()).pathname, {
    method: "POST",
    headers,
    body: request.postDataJSON(),
  });
  if (status >= 300) throw new Error(`Cannot hand over: answered ${status}`);
}

async function typeAtOnce(page: Page, field: string, text: string): Promise<void> {
  await page.focus(field);
  await page.keyboard.insertText(text);
}

async function messagesOf(world: World, threadId: string): Promise<{ id: string }[]> {
  return (await world.api(`/v1/threads/${threadId}/messages`)).body.data;
}

/** The bodies of sent mail, newest first, without quotes. */
async function sentBodies(world: World, inbox: WorldInbox): Promise<string[]> {
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages?direction=outbound`);
  return body.data.map(({ bodyText }: { bodyText: string }) => bodyText.split("\n", 1)[0]?.trim());
}
