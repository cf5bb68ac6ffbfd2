import type { Chance } from "../../tests/support/chance.ts";
import { deliver, newMail } from "./deliver.ts";
import type { Block, JudgedInbox, JudgedMail, LedgerAccount } from "./ledger.ts";
import { post } from "./post.ts";
import { ask, type Driver, eventually, untilHeard, type World } from "./world.ts";

const unknown = Number.POSITIVE_INFINITY;
const sender = "eve@eve.example";

interface QuarantinedRow {
  id: string;
  subject: string;
  messageId: string | null;
}

/** Blocks the sender, sends mail meanwhile and afterwards, and releases some of it. */
export function judgedInbox(world: World, chance: Chance, account: LedgerAccount, name: string): Driver {
  const { ledger } = world;
  let inbox: JudgedInbox | undefined;
  let number = 0;

  return async function blockOnce() {
    inbox ??= await newInbox(world, account, `judged-${name}-${chance.whole(1, 1e6)}`);
    if (inbox === undefined) return;
    const judged = inbox;
    const isOver = { now: false };
    const mailing = send(judged, isOver);
    const block: Block = { askedMs: Date.now(), inForceMs: unknown, liftAskedMs: unknown, overMs: unknown };
    judged.blocks.push(block);
    const rule = await added(judged);
    await untilHeard(world, account);
    block.inForceMs = Date.now();
    ledger.count("rules: a sender was blocked");
    await Bun.sleep(chance.whole(500, 2_000));
    await untilMailCame(judged, block.inForceMs);
    block.liftAskedMs = Date.now();
    if (rule !== undefined) await deleted(rule);
    await untilHeard(world, account);
    block.overMs = rule === undefined ? unknown : Date.now();
    await Bun.sleep(chance.whole(0, 1_000));
    isOver.now = true;
    await mailing;
    await releaseSome(judged);
  };

  /** Waits for a mail that came after this instant. That takes long on a busy machine. */
  async function untilMailCame({ mails }: JudgedInbox, fromMs: number): Promise<void> {
    const endMs = Date.now() + 15_000;
    const hasCome = () => mails.some((sent) => sent.fromMs >= fromMs && sent.untilMs !== unknown);
    while (!hasCome() && !world.isDraining && Date.now() < endMs) await Bun.sleep(50);
  }

  async function send(judged: JudgedInbox, isOver: { now: boolean }): Promise<void> {
    while (!isOver.now && !world.isOver) {
      number += 1;
      const token = `j${name}n${number}z5w`;
      const lines = [
        `From: Eve <${sender}>`,
        `To: ${judged.address}`,
        `Subject: ${token}`,
        `Message-ID: <${token}@mta.example>`,
        "",
        `The text of ${token}`,
        "",
      ];
      const raw = Buffer.from(lines.join("\r\n"));
      const mail = newMail(world, token, [judged], raw);
      const sent: JudgedMail = { mail, fromMs: Date.now(), untilMs: unknown, releasedAs: new Set() };
      judged.mails.push(sent);
      await eventually(world, chance, () =>
        chance.is(0.5) ? post(world, mail, raw) : deliver(world, chance, mail, raw),
      );
      if (mail.recipients.get(judged.address)?.acknowledged) sent.untilMs = Date.now();
      // A copy is neither a second message nor a second mail in quarantine.
      if (chance.is(0.2)) await post(world, mail, raw, true).catch(() => undefined);
      await Bun.sleep(chance.whole(0, 200));
    }
  }

  /** Adds the rule. If it is added again, the answer is the existing rule. */
  async function added({ id: inboxId }: JudgedInbox): Promise<string | undefined> {
    let rule: string | undefined;
    await eventually(world, chance, async () => {
      const body = { direction: "inbound", action: "block", pattern: "eve.example", inboxId };
      const answer = await ask(world, account, "POST", "/rules", { body });
      if (answer.status < 300) rule = String(answer.body.id);
      else if (answer.status !== 503) ledger.violation("api", `a rule was answered ${answer.status}`);
      return rule !== undefined;
    });
    return rule;
  }

  async function deleted(rule: string): Promise<void> {
    await eventually(world, chance, async () => {
      const { status } = await ask(world, account, "DELETE", `/rules/${rule}`);
      return status === 204 || status === 404;
    });
  }

  /** Releases some mail, each twice at once. */
  async function releaseSome(judged: JudgedInbox): Promise<void> {
    const rows = await quarantineOf(world, judged).catch(() => []);
    const known = new Map(judged.mails.map((sent) => [sent.mail.token, sent]));
    for (const { id, subject } of rows.filter(() => chance.is(0.3))) {
      const release = () =>
        eventually(world, chance, async () => {
          const { status, body } = await ask(world, account, "POST", `/quarantine/${id}/release`);
          if (status === 200) known.get(subject)?.releasedAs.add(String(body.messageId));
          else if (status !== 503) ledger.violation("api", `the release of ${id} was answered ${status}`);
          return status === 200;
        });
      await Promise.all([release(), release()]);
      ledger.count("quarantine: released");
    }
  }
}

async function newInbox(world: World, account: LedgerAccount, username: string): Promise<JudgedInbox | undefined> {
  const answer = await ask(world, account, "POST", "/inboxes", { body: { username } }).catch(() => undefined);
  if (answer?.status !== 201) return undefined;
  const inbox = { id: String(answer.body.id), address: String(answer.body.address), account, mails: [], blocks: [] };
  world.ledger.judged.push(inbox);
  return inbox;
}

async function quarantineOf(world: World, { id, account }: JudgedInbox): Promise<QuarantinedRow[]> {
  return listed(world, account, `/quarantine?inbox_id=${id}`);
}

/** All pages of a list. */
async function listed<Row>(world: World, account: LedgerAccount, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const page: string = `${path}&limit=100${cursor === null ? "" : `&cursor=${cursor}`}`;
    const { status, body } = await ask(world, account, "GET", page);
    if (status !== 200) throw new Error(`Cannot read ${path}: it was answered ${status}`);
    rows.push(...(body.data as Row[]));
    cursor = body.nextCursor as string | null;
  } while (cursor !== null);
  return rows;
}

/**
 * Each acknowledged mail is there once: as a message, or in quarantine, or as the message of a release. While the rule is in force in all
 * processes, no mail of the sender becomes a message by itself; while there is none, no mail is quarantined.
 */
export async function checkJudged(world: World): Promise<void> {
  const { ledger } = world;
  for (const inbox of ledger.judged) {
    const messages = await listed<{ id: string; subject: string }>(
      world,
      inbox.account,
      `/inboxes/${inbox.id}/messages?direction=inbound`,
    );
    const rows = await quarantineOf(world, inbox);
    for (const { mail, fromMs, untilMs, releasedAs } of inbox.mails) {
      const made = messages.filter(({ subject }) => subject === mail.token);
      const held = rows.filter(({ subject }) => subject === mail.token);
      const state = mail.recipients.get(inbox.address);
      const about = `${mail.token} in ${inbox.address}`;
      ledger.count(`rules: a mail ${held.length > 0 ? "was quarantined" : "became a message"}`);
      const isReleased = held.some(({ messageId }) => messageId !== null);
      if (made.length > 1 || held.length > 1 || (made.length + held.length > 1 && !isReleased))
        ledger.violation("T10", `${about} is ${made.length} messages and ${held.length} mails in quarantine`);
      if (state?.acknowledged && made.length + held.length === 0)
        ledger.violation("T10", `${about}, answered 250, is neither a message nor in quarantine`);
      if (isReleased && made.length !== 1)
        ledger.violation("T10", `${about} was released, and is ${made.length} messages`);
      if (releasedAs.size > 0 && (releasedAs.size > 1 || !releasedAs.has(made[0]?.id ?? "")))
        ledger.violation("T10", `${about} was released as ${[...releasedAs].join()}, and is ${made[0]?.id}`);
      const isBlocked = inbox.blocks.some((block) => block.inForceMs <= fromMs && untilMs <= block.liftAskedMs);
      if (isBlocked && held.length === 0)
        ledger.violation("T10", `${about} came while its sender was blocked, and is a message`);
      const isOpen = !inbox.blocks.some((block) => block.askedMs <= untilMs && fromMs <= block.overMs);
      if (isOpen && state?.acknowledged && held.length > 0)
        ledger.violation("T10", `${about} came while no rule was there, and is in quarantine`);
    }
  }
}
