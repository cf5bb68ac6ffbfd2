import { afterAll, expect, test } from "bun:test";
import type { ParsedMail } from "../../../src/domain/message.ts";
import { previewOf } from "../../../src/domain/preview.ts";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { contentOf } from "../../../src/standards/digest.ts";
import { busiest } from "../../support/busy.ts";
import { mailSeed, mostBusyMs, randomMail } from "../../support/random-mails.ts";

const parser = mailParser({ mailDomain: "inbox.localhost" });
afterAll(() => parser.close());

test("20,000 random mails: each is parsed into a value that can be stored, and none delays the others", async () => {
  const faults: string[] = [];
  for (let first = 0; first < 20_000; first += together) {
    const mails = Array.from({ length: together }, (_, index) => ({
      about: `mail ${first + index} of MAIL_SEED=${mailSeed}`,
      raw: randomMail(mailSeed, first + index),
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
