import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { prune } from "../../src/workers/prune.ts";
import { enginesHere } from "../support/engines.ts";
import { randomFile, sha256 } from "../support/files.ts";
import { faultsOfSources } from "../support/held-sources.ts";
import type { RunningInboxd } from "../support/inboxd.ts";
import { kill, livesOn, newInboxOf } from "../support/lives.ts";
import { parsedMetrics } from "../support/metrics.ts";
import { beginRequest } from "../support/raw-body.ts";
import { countRows } from "../support/stored.ts";
import { untilAnswered } from "../support/until.ts";

const apiKey = "key-of-the-first-account-in-tests";
const metricsToken = "a-token-of-twenty-characters-or-more";
const hourMs = 3_600_000;
const file = randomFile(1_300_000, 11);

describe.each(enginesHere())("kill -9 during uploads (%s)", (engine) => {
  const lives = livesOn(engine);

  test("leaves nothing of incomplete ones, and keeps each source for exactly its messages", async () => {
    await using life = await lives();
    const relay = await life.relay();
    let process = await life.start(relay, { METRICS_TOKEN: metricsToken });
    const inboxId = await newInboxOf(process);
    const uploaded = await asked(process, "/v1/uploads?filename=a.bin", {}, file);
    const { id: uploadId = "" } = ((await uploaded?.json()) ?? {}) as { id?: string };

    // In the middle of an upload and of a form, with some pieces written.
    for (const sentBytes of [1_200_000, 2_700_000]) {
      const open = beginBoth(process, inboxId, sentBytes);
      // The form parser holds back bytes that may begin a boundary.
      await untilAnswered(async () => ((await cameBytes(process)) > 2 * sentBytes - 1000 ? true : undefined));
      await kill(process);
      for (const each of open) each.leave();
      process = await life.start(relay, { METRICS_TOKEN: metricsToken });
    }

    // At a random point while mail by the upload, by forms and by forwards is accepted.
    const [first] = await Promise.all([sendUploaded(process, inboxId, "first", uploadId)]);
    const forwardOf = first?.messageId ?? "";
    for (const round of [1, 2, 3]) {
      const answers = [1, 2, 3, 4].flatMap((place) => [
        sendUploaded(process, inboxId, `upload-${round}-${place}`, uploadId),
        sendForm(process, inboxId, `form-${round}-${place}`),
        sendJson(process, inboxId, `forward-${round}-${place}`, { forwardOf }),
        sendJson(process, inboxId, `whole-${round}-${place}`, { forwardOf, forwardAs: "attachment" }),
      ]);
      await Promise.race(answers);
      await kill(process);
      await Promise.all(answers);
      if (round < 3) process = await life.start(relay, { METRICS_TOKEN: metricsToken });
    }

    const world = await life.recover();
    const db = world.service.deps.db.api;
    await world.settled();
    expect(await faultsOfSources(db)).toEqual([]);
    world.clock.pass(hourMs);
    await prune({ ...world.service.deps, eventRetentionDays: 30 });
    expect(await query(db, sql`select id from uploads where id <> ${uploadId}`)).toEqual([]);
    expect(await faultsOfSources(db)).toEqual([]);

    // Accepted mail is complete, also after the upload is deleted.
    expect((await world.api(`/v1/uploads/${uploadId}`, { method: "DELETE" })).status).toBe(204);
    const { body: page } = await world.api(`/v1/inboxes/${inboxId}/messages?limit=100`);
    expect(page.data.length).toBeGreaterThan(0);
    for (const { attachments } of page.data) {
      for (const { url, filename } of attachments) {
        const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
        if (!filename.endsWith(".eml")) expect([filename, sha256(bytes)]).toEqual([filename, sha256(file)]);
      }
    }
    expect((await world.api(`/v1/inboxes/${inboxId}`, { method: "DELETE" })).status).toBe(204);
    world.clock.pass(hourMs);
    await prune({ ...world.service.deps, eventRetentionDays: 30 });
    expect(await countRows(db, "source_chunks")).toBe(0);
  }, 120_000);
});

const path = (inboxId: string) => `/v1/inboxes/${inboxId}/send`;
const formHead = (key: string) => ({ "content-type": "multipart/form-data; boundary=b", "idempotency-key": key });
const texts = '--b\r\nContent-Disposition: form-data; name="to"\r\n\r\njane@example.com\r\n';
const begun = `${texts}--b\r\nContent-Disposition: form-data; name="attachments"; filename="a.bin"\r\n\r\n`;

/** An upload and a form of 6 MB, of which only this many bytes are sent. */
function beginBoth(process: RunningInboxd, inboxId: string, sentBytes: number) {
  const service = { apiUrl: new URL(process.api) };
  const fields = (more: Record<string, string>) =>
    Object.entries({ authorization: `Bearer ${apiKey}`, "content-length": "6000000", ...more }).map(
      ([name, value]) => `${name}: ${value}`,
    );
  const bytes = randomFile(sentBytes);
  const upload = beginRequest({ service }, "/v1/uploads?filename=b.bin", fields({}));
  upload.send(bytes);
  const form = beginRequest({ service }, path(inboxId), fields(formHead(`broken-${sentBytes}`)));
  form.send(begun);
  form.send(bytes);
  return [upload, form];
}

async function cameBytes(process: RunningInboxd): Promise<number> {
  const response = await fetch(new URL("/metrics", process.api), {
    headers: { authorization: `Bearer ${metricsToken}` },
  });
  return parsedMetrics(await response.text()).get("inboxd_upload_bytes_total") ?? 0;
}

/** Undefined if the process died before it answered. */
function asked(
  process: RunningInboxd,
  to: string,
  headers: Record<string, string>,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<Response | undefined> {
  return fetch(new URL(to, process.api), {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, prefer: "respond-async", ...headers },
    body,
  }).catch(() => undefined);
}

async function sendJson(process: RunningInboxd, inboxId: string, key: string, body: object) {
  const headers = { "content-type": "application/json", "idempotency-key": key };
  const said = JSON.stringify({ to: ["jane@example.com", "joe@example.com"], ...body });
  const response = await asked(process, path(inboxId), headers, said);
  return (await response?.json().catch(() => undefined)) as { messageId: string } | undefined;
}

function sendUploaded(process: RunningInboxd, inboxId: string, key: string, uploadId: string) {
  return sendJson(process, inboxId, key, { subject: "Hi", body: "Hello", attachments: [{ uploadId }] });
}

function sendForm(process: RunningInboxd, inboxId: string, key: string): Promise<Response | undefined> {
  const more = '--b\r\nContent-Disposition: form-data; name="subject"\r\n\r\nHi\r\n';
  const [head, tail] = [`${more}${more.replace("subject", "body")}${begun}`, "\r\n--b--\r\n"];
  return asked(
    process,
    path(inboxId),
    formHead(key),
    new Uint8Array(Buffer.concat([Buffer.from(head), file, Buffer.from(tail)])),
  );
}
