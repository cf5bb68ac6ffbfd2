import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import type { Chance } from "../../tests/support/chance.ts";
import { deliver, newMail } from "./deliver.ts";
import type { DeletableMail, DeletingInbox, Ledger, LedgerAccount } from "./ledger.ts";
import { plainMail } from "./passing.ts";
import { ask, type Driver, eventually, type World } from "./world.ts";

/** The most messages of a list. With more of them nothing is compared, and a thread is deleted. */
const mostListed = 100;

interface Listed {
  id: string;
  threadId: string;
  subject: string;
}

/** A client that gets mail in threads and deletes messages and threads: what it has deleted never comes back, and all else stays. */
export function deleter(world: World, chance: Chance, account: LedgerAccount, name: string): Driver {
  const { ledger } = world;
  let inbox: DeletingInbox | undefined;
  let number = 0;

  return async function deleteOne() {
    inbox ??= await newInbox(world, account, `deleting-${name}`);
    if (inbox === undefined) return;
    number += 1;
    const token = `d${name}n${number}z4x`;
    const ancestor = chance.is(0.7) ? `d${name}n${Math.max(1, number - chance.whole(1, 9))}z4x` : undefined;
    const raw = plainMail(token, inbox.address, { ancestor, hasFile: chance.is(0.2) });
    const mail: DeletableMail = { token, raw, mail: newMail(world, token, [inbox], raw), state: "coming" };
    inbox.mails.set(token, mail);
    await eventually(world, chance, () => deliver(world, chance, mail.mail, raw));
    if ([...mail.mail.recipients.values()].every(({ acknowledged }) => acknowledged)) mail.state = "there";
    const listed = await compare(world, inbox);
    // A search indexes the mail first, so that its words are there when it is deleted.
    if (chance.is(0.5)) await search(world, inbox, chance.pick([...inbox.mails.values()]));
    if (listed !== undefined && listed.length > 0 && chance.is(0.3)) await fileAny(world, chance, inbox, listed);
    if (listed !== undefined && chance.is(0.5)) await deleteAny(world, chance, inbox, listed);
    // The sender repeats a mail that was deleted.
    const gone = [...inbox.mails.values()].filter(({ state }) => state === "gone");
    if (gone.length > 0 && chance.is(0.3)) {
      const again = chance.pick(gone);
      await deliver(world, chance, again.mail, again.raw, true).catch(() => undefined);
      ledger.count("deletion: deleted mail repeated");
    }
  };
}

/** Compares the list of an inbox with the ledger, and returns it. Undefined if it is too long, or was not answered. */
async function compare({ ledger, ...world }: World, inbox: DeletingInbox): Promise<Listed[] | undefined> {
  const before = new Map([...inbox.mails].map(([token, { state }]) => [token, state]));
  const path = `/inboxes/${inbox.id}/messages?limit=${mostListed}`;
  const answer = await ask({ ledger, ...world }, inbox.account, "GET", path).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  const { data, total } = answer.body as unknown as { data: Listed[]; total: number };
  if (total > mostListed) return data;
  if (total !== data.length)
    ledger.violation("P3.5", `${inbox.id} has a total of ${total}, and lists ${data.length} messages`);
  const subjects = new Set(data.map(({ subject }) => subject));
  if (subjects.size < data.length) ledger.violation("P3.5", `${inbox.id} lists a mail twice`);
  for (const [token, state] of before) {
    if (state === "there" && !subjects.has(token)) ledger.violation("P3.5", `${token} is gone from ${inbox.id}`);
    if (state === "gone" && subjects.has(token))
      ledger.violation("P3.5", `${token} was deleted, and is listed in ${inbox.id} again`);
  }
  ledger.count("deletion: lists compared");
  return data;
}

/** Searches for a mail by its token: it is found while it is there, and not once it is deleted. */
async function search(world: World, inbox: DeletingInbox, { token, state }: DeletableMail): Promise<void> {
  const path = `/inboxes/${inbox.id}/messages?q=${token}`;
  const answer = await ask(world, inbox.account, "GET", path).catch(() => undefined);
  if (answer?.status !== 200) return;
  const isFound = Number(answer.body.total) > 0;
  if (isFound ? state === "gone" : state === "there")
    world.ledger.violation(
      "P3.5",
      `a search in ${inbox.id} ${isFound ? "finds" : "misses"} ${token}, which is ${state}`,
    );
  world.ledger.count("deletion: searches");
}

/** Files or labels the thread of a listed message, so that a deletion changes the counts of folders and labels too. */
async function fileAny(world: World, chance: Chance, inbox: DeletingInbox, listed: readonly Listed[]): Promise<void> {
  const { threadId } = chance.pick(listed);
  const body = chance.pick([{ folder: "archive" }, { folder: "trash" }, { add_labels: ["orders", "vip"] }]);
  await ask(world, inbox.account, "PATCH", `/threads/${threadId}`, { body }).catch(() => undefined);
}

/** Deletes one of the listed messages, or its thread. */
async function deleteAny(world: World, chance: Chance, inbox: DeletingInbox, listed: readonly Listed[]): Promise<void> {
  if (listed.length === 0) return;
  const chosen = chance.pick(listed);
  const isThread = chance.is(0.4) || listed.length === mostListed;
  const doomed = listed.filter(({ id, threadId }) => (isThread ? threadId === chosen.threadId : id === chosen.id));
  const note = (state: DeletableMail["state"]) => {
    for (const { subject } of doomed) {
      const mail = inbox.mails.get(subject);
      if (mail !== undefined) mail.state = state;
    }
  };
  note("asked");
  await eventually(world, chance, async () => {
    const path = isThread ? `/threads/${chosen.threadId}` : `/messages/${chosen.id}`;
    const { status } = await ask(world, inbox.account, "DELETE", path);
    if (![202, 204, 404, 409, 503].includes(status))
      world.ledger.violation("api", `the deletion of ${path} was answered ${status}`);
    // The messages of a thread may leave a little later than the thread.
    if (status === 204 || (status === 404 && !isThread)) note("gone");
    else if (status === 202 || status === 404) note("leaving");
    return [202, 204, 404].includes(status);
  });
  world.ledger.count(isThread ? "deletion: threads" : "deletion: messages", 1);
}

/** Undefined without an answer: an inbox that was made all the same stays empty. */
async function newInbox(world: World, account: LedgerAccount, username: string): Promise<DeletingInbox | undefined> {
  const answer = await ask(world, account, "POST", "/inboxes", { body: { username } }).catch(() => undefined);
  if (answer?.status !== 201) return undefined;
  const { id, address } = answer.body as { id: string; address: string };
  const inbox: DeletingInbox = { id, address, account, mails: new Map() };
  world.ledger.deleting.push(inbox);
  return inbox;
}

/** Waits until the messages of all deleted threads are gone. */
export async function settleDeleting(world: World, settleMs: number): Promise<void> {
  const endMs = Date.now() + settleMs;
  for (const inbox of world.ledger.deleting) {
    const left = [...inbox.mails.values()].filter(({ state }) => state === "leaving");
    while (left.length > 0) {
      const listed = await compare(world, inbox);
      if (listed !== undefined && !left.some(({ token }) => listed.some(({ subject }) => subject === token))) break;
      if (Date.now() > endMs) {
        world.ledger.violation("P3.5", `${inbox.id} has messages of a thread that was deleted`);
        break;
      }
      await Bun.sleep(300);
    }
    for (const mail of left) mail.state = "gone";
    await compare(world, inbox);
  }
}

/** No table has a word of a deleted mail. Its Message-ID stands in the mails that answer it. */
export async function checkDeletedRows(ledger: Ledger, db: Database): Promise<void> {
  const gone = new Set(
    ledger.deleting.flatMap(({ mails }) =>
      [...mails.values()].flatMap(({ token, state }) => (state === "gone" ? token : [])),
    ),
  );
  ledger.count("deletion: deleted mails", gone.size);
  const tables = await query<{ name: string }>(
    db.api,
    sql`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables) {
    const word = ["threads", "message_search"].includes(name) ? "(d[a-z]n[0-9]+z4x)" : "The text of (d[a-z]n[0-9]+z4x)";
    const found = await query<{ token: string }>(
      db.api,
      sql`select distinct hit[1] as token from ${sql.identifier(name)} r
          cross join lateral regexp_matches(r::text, ${word}, 'g') hit`,
    );
    for (const { token } of found)
      if (gone.has(token)) ledger.violation("P3.5", `${token} was deleted, and ${name} has words of it`);
  }
}
