/** An inbox of this size, five messages in a thread, written directly into the tables, with right counters and search index. */
export interface SeededInbox {
  id: string;
  messages: number;
  /** A thread from the middle of its time. */
  threadId: string;
}

/** A word of ten messages in each inbox, spread over its whole time. */
export const rareWord = "zanzibar";
/** A word of every message. */
export const commonWord = "hello";

/** Two thousand bodies of sixty words, shared by many mails, so that a million take a minute. */
const prepareBodies = `
  create unlogged table if not exists seed_bodies as
    select n, text, to_tsvector('simple', text) as words from (
      select n, '${commonWord} ' || string_agg('w' || floor(power(random(), 3) * 20000)::int, ' ') as text
      from generate_series(0, 1999) n, generate_series(1, 60) word where n + word > 0 group by n) bodies;
  create unique index if not exists seed_bodies_n on seed_bodies (n)`;

/** `run` executes statements without parameters, several at once, on one connection. */
export async function seedInbox(
  run: (statements: string) => Promise<unknown>,
  { accountId, number, messages }: { accountId: string; number: number; messages: number },
): Promise<SeededInbox> {
  const idOf = (kind: string, seq: string) =>
    `('${kind}_0' || lpad(to_hex(${number}), 4, '0') || lpad(to_hex(${seq}), 21, '0'))`;
  const threadOf = (seq: string) => `((${seq} - 1) / 1000 * 200 + (${seq} - 1) % 200)`;
  const rareEvery = Math.max(1, Math.floor(messages / 10));
  await run("set maintenance_work_mem = '256MB'; set work_mem = '128MB'; set synchronous_commit = off");
  await run(prepareBodies);
  await run(`
      create temp table seed as
        select seq, direction, row_number() over (partition by direction order by seq) as direction_seq,
          timestamptz '2025-01-01 00:00:00Z' + seq * interval '10 seconds' as at
        from (select seq, case when (seq + seq / 200) % 10 = 0 then 'outbound' else 'inbound' end as direction
          from generate_series(1, ${messages}) seq) numbered;
      drop index if exists message_search_words;
      insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
          message_id_hash, from_addr, from_name, to_addr, to_addrs, cc, subject, body_text, size_bytes, attachment_count)
        select ${idOf("msg", "seq")}, ${idOf("inb", "0")}, ${idOf("thr", threadOf("seq"))}, seq, direction, direction_seq,
          case direction when 'inbound' then 'received' else 'sent' end, at, 'm' || seq || '@example.com',
          md5(seq::text)::uuid, 'sender' || seq % 5000 || '@example.com', 'Sender ' || seq % 5000, 'ada@inbox.localhost', '{ada@inbox.localhost}', '{}',
          'Order ' || ${threadOf("seq")}, b.text || case when seq % ${rareEvery} = 0 then ' ${rareWord}' else '' end,
          500, case when seq % 20 = 0 then 1 else 0 end
        from seed join seed_bodies b on b.n = seq % 2000 order by seq;
      insert into recipients (message_id, position, address, type, destination, status)
        select ${idOf("msg", "seq")}, 0, 'ada@inbox.localhost', 'to', 0, 'sent' from seed where direction = 'outbound';
      insert into attachments (message_id, filename, id, position, content_type, size_bytes, inline, source_id, part, digest)
        select ${idOf("msg", "seq")}, 'file.pdf', ${idOf("att", "seq")}, 0, 'application/pdf', 1000, false, ${idOf("src", "seq")}, 1, ''
        from seed where seq % 20 = 0;
      insert into threads (id, inbox_id, subject, is_read, message_count, created_at, last_message_at, last_message_id,
          last_seq, last_inbound_seq, people, preview, has_attachments, folder, labels)
        select ${idOf("thr", "thread")}, ${idOf("inb", "0")}, 'Order ' || thread, thread % 4 <> 0, count(*), min(at), max(at),
          ${idOf("msg", "max(seq)")}, max(seq), coalesce(max(seq) filter (where direction = 'inbound'), 0),
          '[{"address": "sender@example.com", "name": "Sender"}, {"address": "ada@inbox.localhost", "name": null}]', 'Hello w1 w2 w3', bool_or(seq % 20 = 0),
          case when thread % 4 = 1 then 'archive' else 'inbox' end, case when thread % 2 = 0 then '{orders}'::text[] else '{}' end
        from (select *, ${threadOf("seq")} as thread from seed) placed group by thread;
      insert into thread_labels (thread_id, label, inbox_id, is_read, last_seq)
        select id, 'orders', inbox_id, is_read, last_seq from threads where inbox_id = ${idOf("inb", "0")} and labels <> '{}';
      insert into label_counts (inbox_id, label, thread_count, unread_count)
        select inbox_id, label, count(*), count(*) filter (where not is_read) from thread_labels
        where inbox_id = ${idOf("inb", "0")} group by inbox_id, label;
      insert into message_search (inbox_id, seq, message_id, thread_id, at_ms, indexed, words)
        select ${idOf("inb", "0")}, seq, ${idOf("msg", "seq")}, ${idOf("thr", threadOf("seq"))}, (extract(epoch from at) * 1000)::int8, 'all', setweight(to_tsvector('simple', 'order ' || ${threadOf("seq")}), 'A')
          || setweight(to_tsvector('simple', 'sender' || seq % 5000 || ' example com sender ' || seq % 5000), 'B')
          || setweight('ada inbox localhost'::tsvector, 'C') || b.words
          || case when seq % ${rareEvery} = 0 then '${rareWord}'::tsvector else ''::tsvector end
          || array_to_tsvector(array_remove(array['/' || mark, '/' || mark || '/' || seq / 512, '/' || mark || '/w' || seq / 8192,
            '/a' || account, '/a' || account || '/' || floor(extract(epoch from at) / 43200), '/a' || account || '/w' || floor(extract(epoch from at) / 1382400),
            case direction when 'inbound' then '/in' else '/out' end, case when seq % 20 = 0 then '/files' end], null))
        from seed join seed_bodies b on b.n = seq % 2000,
          (select left(encode(sha256(${idOf("inb", "0")}::bytea), 'hex'), 12) as mark,
            left(encode(sha256('${accountId}'::bytea), 'hex'), 12) as account) marks order by seq;
      create index message_search_words on message_search using gin (words);
      insert into inboxes (id, account_id, username, created_at, message_count, inbound_count, thread_count, unread_count, archive_count,
          storage_bytes, last_message_at, last_message_id)
        select ${idOf("inb", "0")}, '${accountId}', 'seed${number}', '2025-01-01', ${messages},
          (select count(*) from seed where direction = 'inbound'), t.threads, t.unread, t.archived,
          ${500 * messages}, (select max(at) from seed), ${idOf("msg", String(messages))}
        from (select count(*) as threads, count(*) filter (where not is_read) as unread,
          count(*) filter (where folder = 'archive') as archived from threads where inbox_id = ${idOf("inb", "0")}) t;
      insert into addresses (username, inbox_id) values ('seed${number}', ${idOf("inb", "0")});
      drop table seed`);
  await run("vacuum (analyze) messages, threads, thread_labels, message_search, attachments, inboxes");
  const thread = Math.floor((messages / 2 - 1) / 1000) * 200 + ((messages / 2 - 1) % 200);
  return { id: textOf("inb", number, 0), messages, threadId: textOf("thr", number, thread) };
}

/** As `idOf` writes it. */
function textOf(kind: string, number: number, seq: number): string {
  return `${kind}_0${number.toString(16).padStart(4, "0")}${seq.toString(16).padStart(21, "0")}`;
}
