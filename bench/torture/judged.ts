import type { Chance } from "../../tests/support/chance.ts";
import { deliver, isDone, newMail } from "./deliver.ts";
import type { Block, JudgedInbox, JudgedMail, Ledger, LedgerAccount, LedgerMail } from "./ledger.ts";
import { post } from "./post.ts";
import { type Answer, ask, type Driver, eventually, untilHeard, type World } from "./world.ts";

const unknown = Number.POSITIVE_INFINITY;
const sender = "eve@eve.example";

/** The ways to block the sender, in turn. By a rule and by a policy mail is quarantined, and by the last way it is refused. */
const ways = ["rule", "policy", "refusal"] as const;

interface QuarantinedRow {
  id: string;
  subject: string;
  messageId: string | null;
}

/**
 * Blocks the sender by each way in turn, and begins with that of `offset`. Sends mail meanwhile and afterwards, some of it to a neighbour
 * too, and releases and deletes some of it.
 */
export function judgedInbox(world: World, chance: Chance, account: LedgerAccount, offset: number): Driver {
  const { ledger } = world;
  let judged: JudgedInbox | undefined;
  let neighbour: JudgedInbox | undefined;
  let number = 0;

  return async function blockOnce() {
    judged ??= await newInbox(world, account, `judged-${offset}-${chance.whole(1, 1e6)}`);
    neighbour ??= await newInbox(world, account, `neighbour-${offset}-${chance.whole(1, 1e6)}`);
    if (judged === undefined || neighbour === undefined) return;
    const isOver = { now: false };
    const mailing = send(judged, neighbour, isOver);
    const way = ways[(judged.blocks.length + offset) % ways.length];
    const times = { askedMs: Date.now(), inForceMs: unknown, liftAskedMs: unknown, overMs: unknown };
    const block: Block = { refuses: way === "refusal", ...times };
    judged.blocks.push(block);
    const lift = await (way === "rule" ? blockedByRule(judged) : blockedByPolicy(judged, block));
    await untilHeard(world, account);
    block.inForceMs = Date.now();
    await Bun.sleep(chance.whole(500, 2_000));
    await untilMailCame(judged, block.inForceMs);
    block.liftAskedMs = Date.now();
    const isLifted = await lift();
    await untilHeard(world, account);
    block.overMs = isLifted ? Date.now() : unknown;
    await Bun.sleep(chance.whole(0, 1_000));
    isOver.now = true;
    await mailing;
    await emptySome(judged);
  };

  /** Waits for a mail that came after this instant. That takes long on a busy machine. */
  async function untilMailCame({ mails }: JudgedInbox, fromMs: number): Promise<void> {
    const endMs = Date.now() + 15_000;
    const hasCome = () => mails.some((sent) => sent.fromMs >= fromMs && sent.untilMs !== unknown);
    while (!hasCome() && !world.isDraining && Date.now() < endMs) await Bun.sleep(50);
  }

  async function send(inbox: JudgedInbox, beside: JudgedInbox, isOver: { now: boolean }): Promise<void> {
    while (!isOver.now && !world.isOver) {
      number += 1;
      const token = `j${offset}n${number}z5w`;
      const inboxes = chance.is(0.3) ? [inbox, beside] : [inbox];
      const lines = [
        `From: Eve <${sender}>`,
        `To: ${inboxes.map(({ address }) => address).join(", ")}`,
        `Subject: ${token}`,
        `Message-ID: <${token}@mta.example>`,
        "",
        `The text of ${token}`,
        "",
      ];
      const raw = Buffer.from(lines.join("\r\n"));
      const mail = newMail(world, token, inboxes, raw, "blocked");
      const fromMs = Date.now();
      const copies = inboxes.map(({ address, mails }) => {
        const sent: JudgedMail = {
          mail,
          fromMs,
          untilMs: unknown,
          releasedAs: new Set(),
          mayBeDeleted: false,
          deleted: new Set(),
        };
        mails.push(sent);
        return { sent, state: mail.recipients.get(address) };
      });
      await eventually(world, chance, () =>
        chance.is(0.5) ? post(world, mail, raw) : deliver(world, chance, mail, raw),
      );
      const answeredMs = Date.now();
      for (const { sent, state } of copies) if (state !== undefined && isDone(state)) sent.untilMs = answeredMs;
      // A copy of a mail that was taken is neither refused nor a second message or mail in quarantine.
      if (copies.every(({ state }) => state?.acknowledged) && chance.is(0.2))
        await post(world, mail, raw, true).catch(() => undefined);
      await Bun.sleep(chance.whole(0, 200));
    }
  }

  /** Adds a rule; returns the function that deletes it. If it is added again, the answer is the existing rule. */
  async function blockedByRule({ id: inboxId }: JudgedInbox): Promise<() => Promise<boolean>> {
    const body = { direction: "inbound", action: "block", pattern: "eve.example", inboxId };
    let rule: unknown;
    await answered("POST", "/rules", { body, statuses: [200, 201] }, (added) => {
      rule = added.id;
    });
    ledger.count("rules: a sender was blocked by a rule");
    return async () => rule !== undefined && answered("DELETE", `/rules/${rule}`, { statuses: [204, 404] });
  }

  /** Sets a policy that takes listed senders alone, of which there is none; returns the function that removes it. */
  async function blockedByPolicy({ id }: JudgedInbox, { refuses }: Block): Promise<() => Promise<boolean>> {
    const path = `/inboxes/${id}/policy`;
    const inbound = { unlisted: "block", blocked: refuses ? "refuse" : "quarantine" };
    await answered("PUT", path, { body: { inbound }, statuses: [200] });
    ledger.count(`rules: a sender was blocked by a policy${refuses ? " that refuses" : ""}`);
    const asBefore = { body: { inbound: { unlisted: "accept" } }, statuses: [200] };
    return () =>
      chance.is(0.5) ? answered("DELETE", path, { statuses: [204, 404] }) : answered("PUT", path, asBefore);
  }

  /** Asks until one of these statuses is the answer; false if the run ends before. Another one but 503 is a violation. */
  async function answered(
    method: string,
    path: string,
    { body, statuses }: { body?: unknown; statuses: readonly number[] },
    then: (body: Answer["body"], status: number) => void = () => undefined,
  ): Promise<boolean> {
    let isAnswered = false;
    await eventually(world, chance, async () => {
      const answer = await ask(world, account, method, path, { body });
      isAnswered = statuses.includes(answer.status);
      if (isAnswered) then(answer.body, answer.status);
      else if (answer.status !== 503) ledger.violation("api", `${method} ${path} was answered ${answer.status}`);
      return answer.status !== 503;
    });
    return isAnswered;
  }

  /** Releases some mail, each twice at once, deletes some, and does both at once with some. */
  async function emptySome(judged: JudgedInbox): Promise<void> {
    const rows = await quarantineOf(world, judged).catch(() => []);
    const known = new Map(judged.mails.map((sent) => [sent.mail.token, sent]));
    for (const { id, subject } of rows.filter(() => chance.is(0.4))) {
      const sent = known.get(subject);
      if (sent === undefined) continue;
      const isDeleted = chance.is(0.4);
      const isReleased = !isDeleted || chance.is(0.5);
      sent.mayBeDeleted ||= isDeleted;
      await Promise.all([
        ...(isReleased ? [released(id, sent), released(id, sent)] : []),
        ...(isDeleted ? [deleted(id, sent)] : []),
      ]);
    }
  }

  async function released(id: string, sent: JudgedMail): Promise<void> {
    const statuses = sent.mayBeDeleted ? [200, 404] : [200];
    await answered("POST", `/quarantine/${id}/release`, { statuses }, ({ messageId }, status) => {
      if (status === 200) sent.releasedAs.add(String(messageId));
      ledger.count(`quarantine: a release was answered ${status}`);
    });
  }

  async function deleted(id: string, sent: JudgedMail): Promise<void> {
    await answered("DELETE", `/quarantine/${id}`, { statuses: [204, 404] }, () => {
      sent.deleted.add(id);
      ledger.count("quarantine: deleted");
    });
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
 * Each acknowledged mail is there once: as a message, or in quarantine, or as the message of a release, unless it was deleted. While the
 * sender is blocked in all processes, no mail of the sender becomes a message by itself. While nothing blocks the sender, no mail is
 * quarantined.
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
    for (const sent of inbox.mails) {
      const { mail, fromMs, untilMs, releasedAs, mayBeDeleted, deleted } = sent;
      const made = messages.filter(({ subject }) => subject === mail.token);
      const held = rows.filter(({ subject }) => subject === mail.token);
      const state = mail.recipients.get(inbox.address);
      const about = `${mail.token} in ${inbox.address}`;
      const isReleased = held.some(({ messageId }) => messageId !== null);
      if (made.length > 1 || held.length > 1 || (made.length + held.length > 1 && !isReleased))
        ledger.violation("T10", `${about} is ${made.length} messages and ${held.length} mails in quarantine`);
      if (state?.acknowledged && made.length + held.length === 0 && !mayBeDeleted)
        ledger.violation("T10", `${about}, answered 250, is neither a message nor in quarantine`);
      if (isReleased && made.length !== 1)
        ledger.violation("T10", `${about} was released, and is ${made.length} messages`);
      if (releasedAs.size > 0 && (releasedAs.size > 1 || !releasedAs.has(made[0]?.id ?? "")))
        ledger.violation("T10", `${about} was released as ${[...releasedAs].join()}, and is ${made[0]?.id}`);
      if (held.some(({ id }) => deleted.has(id)))
        ledger.violation("T10", `${about} was deleted from the quarantine, and is there`);
      const block = inbox.blocks.find(({ inForceMs, liftAskedMs }) => inForceMs <= fromMs && untilMs <= liftAskedMs);
      if (block !== undefined && made.length > 0 && held.length === 0 && !mayBeDeleted)
        ledger.violation("T10", `${about} came while its sender was blocked, and is a message`);
      if (block?.refuses && state?.acknowledged && mail.recipients.size === 1)
        ledger.violation("T10", `${about} came while its inbox refused it, and was answered 250`);
      const isOpen = !inbox.blocks.some((each) => each.askedMs <= untilMs && fromMs <= each.overMs);
      if (isOpen && state?.acknowledged && held.length > 0)
        ledger.violation("T10", `${about} came while nothing blocked its sender, and is in quarantine`);
      const isRefused = checkRefusals(ledger, inbox, mail, made.length + held.length);
      const became = held.length > 0 ? "was quarantined" : made.length > 0 ? "became a message" : "was deleted";
      ledger.count(`rules: a mail ${isRefused ? "was refused" : became}`);
    }
  }
}

/** A refused mail is nowhere. It is refused only while its inbox refuses its sender, and no other inbox takes it. True if it was refused. */
function checkRefusals(ledger: Ledger, inbox: JudgedInbox, { token, recipients }: LedgerMail, count: number): boolean {
  const state = recipients.get(inbox.address);
  const refusals = state?.answers.filter(({ isAccepted }) => !isAccepted) ?? [];
  const about = `${token} in ${inbox.address}`;
  for (const { askedMs, answeredMs } of refusals) {
    const mayRefuse = inbox.blocks.some((each) => each.refuses && each.askedMs <= answeredMs && askedMs <= each.overMs);
    if (!mayRefuse) ledger.violation("T10", `${about} was refused, and its inbox refused no mail`);
    if (recipients.size > 1) ledger.violation("T10", `${about} was refused, and another inbox takes it`);
    if (state?.acknowledged) ledger.violation("T10", `${about} was answered 250, and was refused`);
  }
  if (refusals.length > 0 && !state?.open && count > 0) ledger.violation("T10", `${about} was refused, and is there`);
  return refusals.length > 0;
}
