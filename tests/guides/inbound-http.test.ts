import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blocksOf } from "../support/documentation.ts";
import { failureOf } from "../support/failure.ts";
import { mailOf } from "../support/mail.ts";
import { startWorld, type World } from "../support/world.ts";

const ingestToken = "the-token-of-the-edge-worker-in-tests";
const page = readFileSync(join(import.meta.dir, "../../docs/inbound-http.md"), "utf8");
const directory = mkdtempSync(join(tmpdir(), "ibx-worker-"));

/** The message that Cloudflare gives to a Worker, as far as the guide uses it. */
interface EmailMessage {
  to: string;
  from: string;
  raw: ReadableStream<Uint8Array>;
  setReject(reason: string): void;
}

interface Worker {
  email(message: EmailMessage, env: { INBOXD_URL: string; INGEST_TOKEN: string }): Promise<void>;
}

let world: World;
let worker: Worker;
beforeAll(async () => {
  world = await startWorld({ env: { INGEST_TOKEN: ingestToken, SMTP_MAX_BYTES: "100000" } });
  const [block] = blocksOf(page).filter(({ language }) => language === "js");
  writeFileSync(join(directory, "worker.js"), block?.text ?? "");
  worker = (await import(join(directory, "worker.js"))).default;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** Passes a mail to the Worker; returns the reason of its rejection. */
async function arrive(to: string, raw: string, url = world.service.apiUrl.origin): Promise<string | undefined> {
  let rejected: string | undefined;
  const message = {
    to,
    from: "jürgen@example.com",
    raw: new Blob([raw]).stream(),
    setReject: (reason: string) => {
      rejected = reason;
    },
  };
  await worker.email(message, { INBOXD_URL: url, INGEST_TOKEN: ingestToken });
  return rejected;
}

test("the Worker of the guide hands in a mail, rejects what inboxd refuses, and fails for the rest", async () => {
  const { id, address } = await world.inbox();
  const raw = mailOf({ text: "bare\nLF" });
  expect(await arrive(address, raw)).toBeUndefined();
  const [message] = (await world.api(`/v1/inboxes/${id}/messages`)).body.data;
  expect(await (await world.fetch(`/v1/messages/${message.id}/raw`)).text()).toBe(raw);
  expect(await arrive("nobody@inbox.localhost", raw)).toBe("No such inbox here");
  expect(await arrive(address, "x".repeat(100_001))).toBe("The mail is too large");
  expect(String(await failureOf(arrive(address, raw, `${world.service.apiUrl.origin}/wrong`)))).toContain(
    "inboxd answered 404",
  );
});
