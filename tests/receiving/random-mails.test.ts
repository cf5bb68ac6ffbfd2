import { afterAll, expect, test } from "bun:test";
import type { ParsedMail } from "../../src/domain/message.ts";
import { previewOf } from "../../src/domain/preview.ts";
import { mailParser } from "../../src/mail/read/parse.ts";
import { contentOf } from "../../src/standards/digest.ts";
import { busiest } from "../support/busy.ts";
import { randomMail } from "../support/random-mails.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { startWorld } from "../support/world.ts";

/** Different mails in each run. A failure shows its seed, and `MAIL_SEED` repeats it. */
const seed = Number(process.env.MAIL_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]) % 1_000_000;
console.log(`Random mails: MAIL_SEED=${seed}`);

const parser = mailParser({ mailDomain: "inbox.localhost" });
afterAll(() => parser.close());

/** The limit of processor time of the main thread for one mail. */
const mostBusyMs = 200;

test("20,000 random mails: each is parsed into a value that can be stored, and none delays the others", async () => {
  const faults: string[] = [];
  for (let first = 0; first < 20_000; first += together) {
    const mails = Array.from({ length: together }, (_, index) => ({
      about: `mail ${first + index} of MAIL_SEED=${seed}`,
      raw: randomMail(seed, first + index),
    }));
    const { result, busyMs } = await busiest(() => Promise.all(mails.map(({ raw }) => read(raw))));
    for (const [index, { about }] of mails.entries()) {
      const found = result[index] === undefined ? ["is not read"] : faultsOf(result[index]);
      faults.push(...found.map((fault) => `${about}: ${fault}`));
    }
    // Together they took too long, so measure them one by one.
    for (const { about, raw } of busyMs > mostBusyMs ? mails : []) {
      const alone = await busiest(() => read(raw));
      if (alone.busyMs > mostBusyMs) faults.push(`${about}: holds the loop up for ${alone.busyMs} ms`);
    }
  }
  expect(faults).toEqual([]);
}, 300_000);

/** Runs several at the same time, so that none waits while another is parsed in a thread. */
const together = 20;

/** Parses and checks a mail like the service does before storing it. */
async function read(raw: Uint8Array): Promise<ParsedMail> {
  const mail = await parser.parse(raw);
  previewOf(mail.bodyText);
  contentOf(raw);
  return mail;
}

function faultsOf({ attachments, ...mail }: ParsedMail): string[] {
  const faults: string[] = [];
  const named = attachments.map(({ bytes: _, ...file }) => file);
  const value = { ...mail, attachments: named };
  for (const text of textsIn(value)) {
    if (text.includes("\0")) faults.push(`NUL in ${JSON.stringify(text.slice(0, 80))}`);
    if (!text.isWellFormed()) faults.push(`half a character in ${JSON.stringify(text.slice(0, 80))}`);
  }
  for (const text of [
    mail.messageId,
    mail.subject,
    mail.from?.name,
    mail.from?.address,
    ...named.map(({ contentId }) => contentId),
  ]) {
    if (/[\r\n\u2028\u2029]/.test(text ?? "")) faults.push(`two lines in ${JSON.stringify(text)}`);
  }
  if (mail.messageId === "") faults.push("no Message-ID");
  if (attachments.length > 1000) faults.push(`${attachments.length} attachments`);
  if (new Set(named.map(({ filename }) => filename.toLowerCase())).size < named.length) faults.push("a name twice");
  for (const { filename } of named) {
    if (/^\.*$|[/\\\r\n\u0000-\u001f\u202a-\u202e]/.test(filename) || Buffer.byteLength(filename) > 255) {
      faults.push(`the name ${JSON.stringify(filename)}`);
    }
  }
  if (attachments.some(({ bytes }) => !(bytes instanceof Uint8Array))) faults.push("an attachment without bytes");
  if (JSON.stringify(JSON.parse(JSON.stringify(value))) !== JSON.stringify(value)) faults.push("no JSON");
  return faults;
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

test("300 random mails by SMTP are accepted and listed as JSON", { ...watchesClock, timeout: 120_000 }, async () => {
  await using world = await startWorld();
  const inbox = await world.inbox();
  let taken = 0;
  for (let number = 0; number < 300; number++) {
    const raw = randomMail(seed, number);
    // The client works in this thread too, and would take most of the time for a large mail.
    if (raw.length > 256 * 1024) continue;
    const about = `mail ${number} of MAIL_SEED=${seed}`;
    const { result, busyMs } = await busiest(() => world.deliver(raw, inbox.address));
    // Refusals are for mail that another server might read as two, and for mail in a loop.
    expect(result, about).toMatch(/^(?:250|550 5\.6\.0|554 5\.4\.6)/);
    expect(busyMs, about).toBeLessThan(mostBusyMs);
    if (result.startsWith("250")) taken += 1;
  }
  expect(taken).toBeGreaterThan(200);
  const ids = new Set<string>();
  for (let offset = 0, total = 1; offset < total; offset += 20) {
    const { status, body } = await world.api(`/v1/inboxes/${inbox.id}/messages?limit=20&offset=${offset}`);
    expect(status).toBe(200);
    total = body.total;
    for (const { id } of body.data) ids.add(id);
  }
  // Two mails may be copies of each other.
  expect(ids.size).toBeLessThanOrEqual(taken);
  expect(ids.size).toBeGreaterThan(taken / 2);
});
