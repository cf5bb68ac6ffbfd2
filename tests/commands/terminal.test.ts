import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInboxd } from "../support/inboxd.ts";

/** Clears a screen by an escape, by C1's one letter for it, and overwrites what stands before it. */
const hostile = "safe\u001b[2J\u009b2J\u007f\rworse\u0007";
const controls = /[\0-\u0008\u000b-\u001f\u007f-\u009f]/;

describe("Control characters of strangers never reach a terminal", () => {
  let server: Bun.Server<undefined>;
  let env: Record<string, string>;

  beforeAll(() => {
    const failure = { code: null, enhancedCode: null, message: hostile };
    const delivery = { state: "bounced", code: null, enhancedCode: hostile, diagnostic: hostile };
    const copy = { address: hostile, type: "to", status: "sent", failure: null, delivery };
    const message = {
      id: "msg_1",
      threadId: "thr_1",
      direction: "inbound",
      status: "received",
      createdAt: "now",
      failure,
      delivery: null,
      authentication: null,
      recipients: [copy, { ...copy, failure, delivery: null }],
    };
    const file = { filename: hostile, contentType: hostile, sizeBytes: 1 };
    const whole = {
      ...message,
      fromAddr: hostile,
      fromName: hostile,
      toAddr: hostile,
      cc: [hostile],
      subject: hostile,
      bodyText: hostile,
      attachments: [file],
      truncated: false,
    };
    const thread = { id: "thr_1", subject: hostile, isRead: false, messageCount: 1, lastMessageAt: hostile };
    const event = { event: hostile, event_id: "evt_1", occurred_at: hostile };
    const pages: Record<string, object> = {
      "/v1/messages/msg_1": whole,
      "/v1/inboxes/inb_1/threads": {
        data: [{ ...thread, participants: [hostile], folder: "archive", labels: [hostile] }],
        total: 1,
        nextCursor: null,
      },
      "/v1/threads/thr_1/messages": { threadId: "thr_1", subject: hostile, isRead: false, data: [whole], total: 1 },
      "/v1/events": { data: [{ ...event, message: { from: hostile, subject: hostile } }], hasMore: false },
    };
    const inbox = { id: "inb_1", address: "ada@inbox.localhost", externalId: hostile, createdAt: "now" };
    server = Bun.serve({
      port: 0,
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/v1/inboxes") return Response.json({ data: [inbox], total: 1 });
        const page = pages[pathname];
        if (page !== undefined) return Response.json(page);
        if (!pathname.endsWith("/messages")) return Response.json({ code: "bad", detail: hostile }, { status: 400 });
        const shown = { ...message, fromAddr: hostile, toAddr: hostile, subject: hostile };
        return Response.json({ data: [shown], total: 1 });
      },
    });
    env = { INBOXD_URL: server.url.origin, INBOXD_API_KEY: "key" };
  });
  afterAll(() => server.stop(true));

  test.each([
    ["a table", ["inbox", "list"]],
    ["a table of mail", ["messages", "ada"]],
    ["a message", ["message", "msg_1"]],
    ["a table of threads", ["threads", "list", "ada"]],
    ["a thread", ["thread", "thr_1"]],
    ["a table of events", ["events"]],
    ["JSON of a message", ["message", "msg_1", "--json"]],
    ["JSON", ["inbox", "list", "--json"]],
    ["JSON of mail", ["messages", "ada", "--json"]],
    ["an error", ["send", "--from", "ada", "--to", "b@c.example", "--subject", "s", "--body", "b"]],
  ])("%s", async (_what, words) => {
    const { stdout, stderr } = await runInboxd(words, { cwd: tmpdir(), env });
    expect(stdout + stderr).toContain("safe");
    expect(stdout + stderr).not.toMatch(controls);
    if (words.includes("--json"))
      expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(hostile).slice(1, -1));
  });

  test("a log for people", async () => {
    const program = join(import.meta.dir, "../../src/commands/serve/logger.ts");
    const line = JSON.stringify({
      level: "info",
      time: "",
      msg: hostile,
      id: hostile,
      err: { stack: `Error: ${hostile}` },
    });
    const script = `import { prettyStream } from ${JSON.stringify(program)}; prettyStream().write(${JSON.stringify(line)});`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
    const printed = await new Response(child.stdout).text();
    expect(printed).toStartWith(" info  ");
    expect(printed.match(/safe/g)).toHaveLength(3);
    expect(printed).not.toMatch(controls);
  });
});
