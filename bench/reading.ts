/**
 * `bun bench/reading.ts`: lists, threads and search over HTTP on Postgres, in an inbox of 1,000 messages and in one of a
 * million (SIZES=1000,1000000), in turns within one run, at concurrency 8; DATABASE=embedded for the other database, with
 * 50,000 messages. The last lines hold the first page against raw SQL through the same driver, which reads what the page shows.
 */
import { openDatabase } from "../src/database/db.ts";
import { clientOf } from "./support/client.ts";
import { engine, onEngine, startDatabase } from "./support/database.ts";
import { type LoadResult, load, median, percentile } from "./support/load.ts";
import { report } from "./support/report.ts";
import { commonWord, rareWord, type SeededInbox, seedInbox } from "./support/seed.ts";
import { startServiceProcess } from "./support/service.ts";

const connections = 8;
const seconds = Number(process.env.SECONDS ?? 2);
const rounds = Number(process.env.ROUNDS ?? 5);
const usualSizes = engine === "embedded" ? "1000,50000" : "1000,1000000";
const [small = 1_000, large = 1_000_000] = (process.env.SIZES ?? usualSizes).split(",").map(Number);

const database = await startDatabase(["shared_buffers=1GB", "max_wal_size=4GB"]);
const { url, dataDir, environment } = database;
// A first start makes the account that the inboxes belong to.
await (await startServiceProcess(environment)).stop();
const inboxes = await seeded();
const service = await startServiceProcess(environment);
const headers = { authorization: `Bearer ${service.apiKey}` };
try {
  const cursors = new Map<SeededInbox, string>();
  for (const inbox of Object.values(inboxes)) cursors.set(inbox, (await page(inbox)).nextCursor);
  const questions: [name: string, pathOf: (inbox: SeededInbox) => string][] = [
    ["first page", ({ id }) => `/v1/inboxes/${id}/messages`],
    ["total alone (limit=1)", ({ id }) => `/v1/inboxes/${id}/messages?limit=1`],
    ["next page by cursor", (inbox) => `/v1/inboxes/${inbox.id}/messages?cursor=${cursors.get(inbox)}`],
    ["offset in the middle", ({ id, messages }) => `/v1/inboxes/${id}/messages?offset=${messages / 2}`],
    ["offset at the end", ({ id, messages }) => `/v1/inboxes/${id}/messages?offset=${messages - 50}`],
    [
      "inbound, offset in the middle",
      ({ id, messages }) => `/v1/inboxes/${id}/messages?direction=inbound&offset=${messages / 2}`,
    ],
    ["since and until", ({ id }) => `/v1/inboxes/${id}/messages?since=2025-01-01T00:30:00Z&until=2025-01-01T02:00:00Z`],
    ["unread threads", ({ id }) => `/v1/inboxes/${id}/threads?is_read=false`],
    ["all threads", ({ id }) => `/v1/inboxes/${id}/threads`],
    ["threads of all folders", ({ id }) => `/v1/inboxes/${id}/threads?folder=all`],
    ["threads in the archive", ({ id }) => `/v1/inboxes/${id}/threads?folder=archive`],
    ["threads with a label", ({ id }) => `/v1/inboxes/${id}/threads?label=orders`],
    ["unread threads with a label", ({ id }) => `/v1/inboxes/${id}/threads?label=orders&is_read=false`],
    ["all threads, offset in the middle", ({ id, messages }) => `/v1/inboxes/${id}/threads?offset=${messages / 10}`],
    ["a thread", ({ threadId }) => `/v1/threads/${threadId}/messages`],
    ["search, rare word", ({ id }) => `/v1/inboxes/${id}/messages?q=${rareWord}`],
    ["search, rare sender", ({ id }) => `/v1/inboxes/${id}/messages?from=sender123&q=${rareWord}`],
    ["search, word of every message", ({ id }) => `/v1/inboxes/${id}/messages?q=${commonWord}`],
    ["with attachments", ({ id }) => `/v1/inboxes/${id}/messages?has_attachment=true`],
  ];
  for (const [name, pathOf] of questions) {
    const [few, many] = await inTurns(pathOf(inboxes.small), pathOf(inboxes.large));
    report({
      what: `${name}, ${large} messages, p50${onEngine}`,
      value: many.p50Ms,
      unit: "ms",
      beside: [{ name: `${small} messages`, value: few.p50Ms }],
      target: { ratio: { atMost: 1.5 } },
      note: `p99 ${many.p99Ms.toFixed(2)} ms`,
    });
  }

  for (const inbox of url === undefined ? [] : Object.values(inboxes)) {
    const api: number[] = [];
    const raw: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const asked = await ask(`/v1/inboxes/${inbox.id}/messages`);
      const bare = await rawRate(url ?? "", inbox);
      if (round === 0) continue;
      api.push(asked.perSecond);
      raw.push(bare);
    }
    const ratio = median(api.map((rate, index) => rate / (raw[index] ?? Number.NaN)));
    report({
      what: `first page of ${inbox.messages}`,
      value: median(api),
      unit: "requests/s",
      beside: [{ name: "the same rows by raw SQL", value: median(raw), ratio }],
      target: { ratio: { atLeast: 0.7 } },
    });
  }
} finally {
  await service.stop();
  await database.remove();
}

async function seeded() {
  const db = await openDatabase({ url, dataDir });
  try {
    return await db.maintain(async (runner) => {
      const [account] = (await runner.run("select id from accounts", [])) as { id: string }[];
      const seed = async (number: number, messages: number) => {
        const startedMs = performance.now();
        const inbox = await seedInbox(runner.script, { accountId: account?.id ?? "", number, messages });
        print(`${messages} messages seeded in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
        return inbox;
      };
      return { small: await seed(1, small), large: await seed(2, large) };
    });
  } finally {
    await db.close();
  }
}

async function page({ id }: SeededInbox): Promise<{ nextCursor: string }> {
  const answer = await fetch(`${service.apiUrl}/v1/inboxes/${id}/messages`, { headers });
  return (await answer.json()) as { nextCursor: string };
}

async function ask(path: string, most = seconds): Promise<LoadResult> {
  const result = await load({ url: `${service.apiUrl}${path}`, headers, connections, seconds: most });
  if (result.statuses["200"] !== result.requests)
    throw new Error(`${path}: not all 200: ${JSON.stringify(result.statuses)}`);
  return result;
}

/** The median of the rounds. */
async function inTurns(first: string, second: string): Promise<[LoadResult, LoadResult]> {
  const results: [LoadResult[], LoadResult[]] = [[], []];
  await ask(first, 0.5);
  await ask(second, 0.5);
  for (let round = 0; round < rounds; round++) {
    results[0].push(await ask(first));
    results[1].push(await ask(second));
  }
  const middle = (of: LoadResult[]) =>
    percentile(of.toSorted((left, right) => left.p50Ms - right.p50Ms) as never, 0.5) as unknown as LoadResult;
  return [middle(results[0]), middle(results[1])];
}

/** Reads all that a page shows of its messages, with their attachments and recipients. */
async function rawRate(databaseUrl: string, { id, messages }: SeededInbox): Promise<number> {
  const sql = clientOf(databaseUrl, { max: connections, fetch_types: false });
  let done = 0;
  const until = performance.now() + seconds * 1000;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (; performance.now() < until; done++) {
        const rows = await sql`
          select id, thread_id, inbox_id, direction, status, from_addr, from_name, to_addr, to_addrs, cc, reply_to, subject, body_text,
            body_html, rfc_message_id, provider_message_id, failure, created_at, envelope_from, truncated, automated, metadata, forward_of,
            delivery, authentication, spam,
            case when attachment_count > 0 then (
              select json_agg(json_build_object('id', a.id, 'filename', a.filename, 'contentType', a.content_type,
                'sizeBytes', a.size_bytes, 'contentId', a.content_id, 'inline', a.inline) order by a.position)
              from attachments a where a.message_id = m.id
            ) end as attachments,
            case when direction = 'outbound' then (
              select json_agg(json_build_object('address', r.address, 'name', r.name, 'type', r.type, 'status', r.status,
                'providerMessageId', r.provider_message_id, 'failure', r.failure, 'delivery', r.delivery) order by r.position)
              from recipients r where r.message_id = m.id
            ) end as recipients
          from messages m where inbox_id = ${id} and seq between ${messages - 49} and ${messages} order by seq desc`;
        if (rows.length !== 50) throw new Error("the page is not whole");
      }
    }),
  );
  const rate = (done / (performance.now() - startedMs)) * 1000;
  await sql.end();
  return rate;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
