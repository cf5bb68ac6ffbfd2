/** The kept counts of an inbox and of its threads always equal the counted rows. */
export interface StandingRule {
  what: string;
  /** Selects what breaks it. */
  statement: string;
}

/** The rules for the inboxes that a clause chooses. */
export function standingRules(where = ""): readonly StandingRule[] {
  const inboxes = `(select * from inboxes ${where})`;
  return [
    {
      what: "a thread miscounts its messages",
      statement: `select t.id, t.message_count, count(m.id) from ${inboxes} i join threads t on t.inbox_id = i.id
       left join messages m on m.thread_id = t.id
       group by t.id having count(m.id) <> t.message_count or max(m.seq) <> t.last_seq`,
    },
    {
      what: "an inbox miscounts its messages",
      statement: `select i.id, i.message_count, i.removed_count, count(m.id), max(m.seq) from ${inboxes} i
       left join messages m on m.inbox_id = i.id
       group by i.id, i.message_count, i.removed_count, i.inbound_count, i.removed_inbound_count, i.last_removed_seq, i.last_removed_inbound_seq
       having count(m.id) <> i.message_count - i.removed_count
         or (i.last_removed_seq < i.message_count and coalesce(max(m.seq), 0) <> i.message_count) or max(m.seq) > i.message_count
         or count(distinct m.seq) <> count(*) filter (where m.id is not null)
         or count(*) filter (where m.direction = 'inbound') <> i.inbound_count - i.removed_inbound_count
         or count(*) filter (where m.seq > i.last_removed_seq) <> i.message_count - i.last_removed_seq
         or count(*) filter (where m.seq > i.last_removed_seq and m.direction = 'inbound') <> i.inbound_count - i.last_removed_inbound_seq`,
    },
    {
      what: "an inbox miscounts its threads",
      statement: `select i.id, i.thread_count, i.unread_count, count(t.id) from ${inboxes} i left join threads t on t.inbox_id = i.id
       group by i.id, i.thread_count, i.unread_count, i.archive_count, i.trash_count
       having count(t.id) <> i.thread_count or count(*) filter (where not t.is_read) <> i.unread_count
         or count(*) filter (where t.folder = 'archive') <> i.archive_count
         or count(*) filter (where t.folder = 'trash') <> i.trash_count`,
    },
    {
      what: "an unread thread is hidden",
      statement: `select t.id, t.folder from ${inboxes} i join threads t on t.inbox_id = i.id where not t.is_read and t.folder <> 'inbox'`,
    },
    {
      what: "a label does not find its threads",
      statement: `select coalesce(w.id, l.thread_id) as id from (
         select i.id as inbox_id, t.id, label, t.is_read, t.last_seq from ${inboxes} i join threads t on t.inbox_id = i.id
         cross join unnest(t.labels) as each (label) where t.folder <> 'trash'
       ) w full join (select l.* from ${inboxes} i join thread_labels l on l.inbox_id = i.id) l
         on l.thread_id = w.id and l.label = w.label and l.is_read = w.is_read and l.last_seq = w.last_seq and l.inbox_id = w.inbox_id
       where w.id is null or l.thread_id is null`,
    },
    {
      what: "an inbox miscounts a label",
      statement: `select coalesce(w.label, c.label) as label from (
         select l.inbox_id, l.label, count(*) as threads, count(*) filter (where not l.is_read) as unread
         from ${inboxes} i join thread_labels l on l.inbox_id = i.id group by l.inbox_id, l.label
       ) w full join (select c.* from ${inboxes} i join label_counts c on c.inbox_id = i.id) c
         on c.inbox_id = w.inbox_id and c.label = w.label and c.thread_count = w.threads and c.unread_count = w.unread
       where w.label is null or c.label is null`,
    },
    {
      what: "an inbox has other bytes than its messages and its quarantine",
      statement: `select i.id, i.storage_bytes, held.bytes from ${inboxes} i left join (
         select inbox_id, sum(size_bytes) as bytes from (
           select inbox_id, size_bytes from messages union all select inbox_id, size_bytes from quarantine
         ) mail group by inbox_id
       ) held on held.inbox_id = i.id where coalesce(held.bytes, 0) <> i.storage_bytes`,
    },
  ];
}
