import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Draft } from "../../../../src/http/docs/browser/draft.ts";
import { type Language, sampleOf, withKey } from "../../../../src/http/docs/browser/samples.ts";

const post: Draft = {
  operationId: "sendEmail",
  method: "POST",
  base: "http://127.0.0.1:3000",
  path: "/v1/inboxes/{id}/send",
  pathValues: { id: "inb_1" },
  query: [],
  url: "http://127.0.0.1:3000/v1/inboxes/inb_1/send",
  needsKey: true,
  headers: [
    ["Content-Type", "application/json"],
    ["Idempotency-Key", "it's mine"],
  ],
  body: `{"to": "o'hara@example.com", "isRead": true, "none": null, "list": [1, {}], "text": "a\\nb \\"c\\""}`,
};

/** client-sample.test.ts tries those with the TypeScript client. */
const runners: Readonly<
  Record<Exclude<Language, "typescript">, { file: string; command: (file: string) => string[] }>
> = {
  curl: { file: "sample.sh", command: (file) => ["bash", file] },
  python: { file: "sample.py", command: (file) => ["python3", file] },
};

describe.each(Object.keys(runners) as (keyof typeof runners)[])("The code in %s", (language) => {
  const { file, command } = runners[language];
  const isHere = Bun.which(command("")[0] ?? "") !== null;

  test.skipIf(!isHere)("runs as it stands and sends what the form says", async () => {
    const came: Record<"method" | "path" | "key" | "idempotency" | "body", string | null>[] = [];
    const server = Bun.serve({
      port: 0,
      async fetch(request) {
        const { method, headers } = request;
        const text = await request.text();
        came.push({
          method,
          path: new URL(request.url).pathname,
          key: headers.get("authorization"),
          idempotency: headers.get("idempotency-key"),
          body: text === "" ? null : text,
        });
        return new Response("It came.");
      },
    });
    const directory = mkdtempSync(join(tmpdir(), "ibx-samples-"));
    try {
      const url = new URL("/v1/inboxes/inb_1/send", server.url).href;
      const drafts = [
        { ...post, url },
        { ...post, method: "GET", url, needsKey: false, headers: [], body: undefined },
        { ...post, url, headers: [["Content-Type", "text/plain"]] as const, body: '"Hello", it\'s a file' },
      ];
      const drafted = { ...post, method: "DELETE", url, headers: [], body: undefined };
      for (const draft of [...drafts, drafted]) {
        await Bun.write(join(directory, file), sampleOf(language, draft));
        const { PATH = "" } = process.env;
        const ran = Bun.spawn(command(join(directory, file)), {
          env: { PATH, HOME: directory, INBOXD_API_KEY: "ibx_secret" },
          stderr: "pipe",
        });
        const [said, faults] = await Promise.all([new Response(ran.stdout).text(), new Response(ran.stderr).text()]);
        expect([faults, said]).toEqual(["", expect.stringContaining("It came.")]);
      }
      const path = "/v1/inboxes/inb_1/send";
      const key = "Bearer ibx_secret";
      const [json, ...others] = came;
      expect({ ...json, body: JSON.parse(json?.body ?? "") }).toEqual({
        method: "POST",
        path,
        key,
        idempotency: "it's mine",
        body: JSON.parse(post.body ?? ""),
      });
      expect(others).toEqual([
        { method: "GET", path, key: null, idempotency: null, body: null },
        { method: "POST", path, key, idempotency: null, body: '"Hello", it\'s a file' },
        { method: "DELETE", path, key, idempotency: null, body: null },
      ]);
    } finally {
      await server.stop(true);
      rmSync(directory, { recursive: true });
    }
  });

  test.skipIf(!isHere)("prints an answer that has no end as it comes", async () => {
    const server = Bun.serve({
      port: 0,
      idleTimeout: 0,
      fetch: () => new Response(new ReadableStream({ start: (stream) => stream.enqueue("data: one\n\n") })),
    });
    const directory = mkdtempSync(join(tmpdir(), "ibx-sample-"));
    const asked = { ...post, method: "GET", headers: [], body: undefined, isEndless: true, url: server.url.href };
    await Bun.write(join(directory, file), sampleOf(language, asked));
    const env = { ...process.env, INBOXD_API_KEY: "ibx_key" };
    const child = Bun.spawn(command(join(directory, file)), { env, stdout: "pipe" });
    const { value } = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toStartWith("data: one\n");
    child.kill("SIGKILL");
    await child.exited;
    await server.stop(true);
    rmSync(directory, { recursive: true });
  });

  test("stands there also while the body is half typed", () => {
    expect(sampleOf(language, { ...post, body: '{"to": ' })).toContain('{"to":');
  });
});

test.each([
  ['curl -H "Authorization: Bearer $INBOXD_API_KEY"', 'curl -H "Authorization: Bearer ibx_1.~"'],
  ["export INBOXD_API_KEY=ibx_…", "export INBOXD_API_KEY=ibx_1.~"],
  ['const apiKey = process.env.INBOXD_API_KEY ?? "";', 'const apiKey = "ibx_1.~";'],
  ['"Bearer " + os.environ["INBOXD_API_KEY"]', '"Bearer " + "ibx_1.~"'],
  ["with `INBOXD_API_KEY`", "with `INBOXD_API_KEY`"],
])("%p with a key is %p", (sample, expected) => {
  expect(withKey(sample, "ibx_1.~")).toBe(expected);
});

test.each(["", "it's", 'a"b', "$(reboot)", "`id`", "a b", "a\\b"])("the key %p leaves a sample as it is", (key) => {
  expect(withKey('"Bearer $INBOXD_API_KEY"', key)).toBe('"Bearer $INBOXD_API_KEY"');
});
