import { expect, test } from "bun:test";
import type { DocumentFile, ReadDocument } from "../../../src/domain/document.ts";
import { attachmentTexts } from "../../../src/flows/read/attachment-text.ts";
import { findAttachment } from "../../../src/store/mail/attachments.ts";
import { takeIn } from "../../support/arrivals.ts";
import { failureOf } from "../../support/failure.ts";
import { newAccount, newInbox } from "../../support/sends.ts";
import { oneWorldOn } from "../../support/world-on.ts";

const world = oneWorldOn("embedded");
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const words: ReadDocument = { kind: "text", text: "words", pages: [], truncated: false };

/** A reader whose documents take `tookMs`, with its clocks, and the files that it got. */
function reader({ answer = words, tookMs = 60 }: { answer?: ReadDocument | "unserved"; tookMs?: number } = {}) {
  const files: DocumentFile[] = [];
  let passedMs = 0;
  let elapsedMs = 0;
  const gate = Promise.withResolvers<void>();
  const texts = attachmentTexts({
    db: world().service.deps.db,
    now: () => new Date(passedMs),
    nowMs: () => elapsedMs,
    documents: {
      async read(load) {
        files.push(await load());
        elapsedMs += tookMs;
        await gate.promise;
        return answer === "unserved" ? undefined : answer;
      },
    },
  });
  const pass = (ms: number) => {
    passedMs += ms;
  };
  return { texts, files, pass, finish: gate.resolve };
}

async function attachment(apiKey = world().apiKey) {
  const { deps } = world().service;
  const id = await newInbox(world(), apiKey);
  const file = { filename: "a.txt", contentType: "text/plain", contentId: undefined, inline: false };
  const bytes = new TextEncoder().encode("words");
  const inbox = (await world().api(`/v1/inboxes/${id}`, { apiKey })).body;
  await takeIn(deps, inbox, [{ attachments: [{ ...file, bytes }] }]);
  const [message] = (await world().api(`/v1/inboxes/${id}/messages`, { apiKey })).body.data;
  const found = await findAttachment(deps.db.api, undefined, message.id, "a.txt");
  return found ?? expect.unreachable();
}

test("a document is read once for all that wait for it, from its bytes, its name and its label", async () => {
  const { texts, files, finish } = reader();
  const wanted = await attachment();
  const both = [texts.textOf(wanted), texts.textOf(wanted)];
  finish();
  expect(await Promise.all(both)).toEqual([words, words]);
  expect(files).toEqual([{ bytes: new TextEncoder().encode("words"), filename: "a.txt", contentType: "text/plain" }]);
});

const cut: ReadDocument = { kind: "pdf", text: "words", pages: [0], truncated: true };

test.each<[about: string, how: Parameters<typeof reader>[0], keptMs: number]>([
  ["a text that took over 50 ms is kept for a day", {}, dayMs],
  ["a quick text is not kept", { tookMs: 50 }, 0],
  ["a text of more than 2 MiB is not kept", { answer: { ...words, text: "é".repeat((1 << 20) + 1) } }, 0],
  ["a text that is cut is kept for ten minutes", { answer: cut }, 10 * minuteMs],
  ["a document that is too large is refused for ten minutes", { answer: { reason: "too_large" } }, 10 * minuteMs],
  ["a damaged document is refused for a day", { answer: { reason: "damaged" } }, dayMs],
])("%s", async (_about, how, keptMs) => {
  const { texts, files, pass, finish } = reader(how);
  const wanted = await attachment();
  const ask = () => texts.textOf(wanted).catch(() => undefined);
  finish();
  await ask();
  pass(keptMs - 1);
  await ask();
  expect(files).toHaveLength(keptMs > 0 ? 1 : 2);
  pass(1);
  await ask();
  expect(files).toHaveLength(keptMs > 0 ? 2 : 3);
});

test("the same file of another account is read again, since a quick answer would tell of the first", async () => {
  const { texts, files, finish } = reader();
  finish();
  await texts.textOf(await attachment());
  await texts.textOf(await attachment(await newAccount(world())));
  expect(files).toHaveLength(2);
});

test("a request is told to come back if no process was free", async () => {
  const { texts, finish } = reader({ answer: "unserved" });
  finish();
  expect(await failureOf(texts.textOf(await attachment()))).toMatchObject({
    reason: "service_unavailable",
    details: { retryAfterSeconds: 5 },
  });
});
