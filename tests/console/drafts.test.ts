import { expect, test } from "bun:test";
import { mailOf } from "../support/mail.ts";
import { untilSo } from "../support/until.ts";
import { describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("Mail that is sent later, in the console", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0" } });

  const drafts = async (state: string) => (await setup.world.api(`/v1/drafts?state=${state}`)).body.data;

  test("is written with a time, taken back at once, or listed, canceled and sent early", async () => {
    const ada = await setup.world.inbox("later");
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    const write = async (to: string) => {
      await page.fill("#to", to);
      await page.fill("#subject", `For ${to}`);
      await page.fill(".compose-body", "Hello");
      await page.getByText("More options").click();
      await page.fill("#send-at", "2026-06-01T09:00");
      await page.press(".compose-body", "Control+Enter");
      await page.getByText("Scheduled", { exact: true }).first().waitFor();
    };
    await write("first@example.com");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("It is not sent").waitFor();
    expect((await drafts("canceled")).map(({ subject }: { subject: string }) => subject)).toEqual([
      "For first@example.com",
    ]);

    for (const to of ["second@example.com", "third@example.com"]) {
      await page.goto(new URL(`/console/compose?inbox=${ada.id}`, setup.world.service.apiUrl).href);
      await write(to);
    }
    await page.getByRole("heading", { name: "Drafts" }).waitFor();
    await page.getByLabel("Discard the mail to second@example.com").click();
    await page.getByRole("button", { name: "Cancel mail" }).click();
    await page.getByText("It is not sent").waitFor();
    await page.getByLabel("Send to third@example.com now").click();
    await untilSo(async () => (await drafts("sent")).length === 1);
    const canceled = await drafts("canceled");
    expect(canceled.length).toBe(2);
    await page.goto(new URL(`/console/messages/${canceled[0].id}`, setup.world.service.apiUrl).href);
    const steps = page.locator(".step-name");
    await steps.nth(1).waitFor();
    expect(await steps.allTextContents()).toEqual(["Scheduled (done)", "Canceled (failed)"]);
    expect(await page.locator(".step-note").first().textContent()).toStartWith("for ");
    await page.context().close();
  });

  test("is a reply from the conversation, which stays unread if it is taken back", async () => {
    const ada = await setup.world.inbox("replies-later");
    await setup.world.deliver(mailOf({ subject: "Question" }), ada.address);
    const thread = async () => (await setup.world.api(`/v1/inboxes/${ada.id}/threads`)).body.data[0];
    const { threadId } = await thread();
    const { page } = await signedIn(setup, `threads/${threadId}`);
    const write = async () => {
      await page.fill("#reply", "Later");
      await page.getByText("Send later").click();
      await page.fill("#send-at", "2026-06-01T09:00");
      await page.press("#reply", "Control+Enter");
    };
    await write();
    await page.getByRole("button", { name: "Undo" }).waitFor();
    expect(await thread()).toMatchObject({ draftCount: 1, messageCount: 1 });
    expect(await page.inputValue("#reply")).toBe("");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("It is not sent").waitFor();
    expect(await thread()).toMatchObject({ draftCount: 0, messageCount: 1 });
    await page.context().close();
  });
});
