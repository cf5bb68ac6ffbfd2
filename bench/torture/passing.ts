import type { Chance } from "../../tests/support/chance.ts";
import { workOn } from "./agents.ts";
import { deliver, newMail } from "./deliver.ts";
import { keptMs } from "./early-work.ts";
import { type LedgerAccount, type LedgerMail, newSend, type PassingInbox } from "./ledger.ts";
import { ask, type Driver, eventually, type World } from "./world.ts";

/** The account of the inboxes whose mail is removed, and of those that are deleted. */
export const passingName = "passing";
const usualDays = 1;
/** A clock of the service may be a little behind ours. */
export const marginMs = 1_000;

/** A client of an inbox with a retention: its mail must be there until it is due, and the totals always right. */
export function keeper(world: World, chance: Chance, account: LedgerAccount, name: string): Driver {
  const { ledger } = world;
  let inbox: PassingInbox | undefined;
  let number = 0;
  /** When the last mails were sent, by their tokens. */
  const recent = new Map<string, number>();

  return async function keepOne() {
    inbox ??= await retaining();
    if (inbox === undefined) return;
    number += 1;
    const token = `k${name}n${number}z4x`;
    if (chance.is(0.2)) return send(world, chance, inbox, token);
    const fromMs = Date.now();
    const ancestor = `k${name}n${Math.max(1, number - chance.whole(1, 9))}z4x`;
    await receive(world, chance, inbox, token, { ancestor });
    recent.set(token, fromMs);
    await areThere(inbox);
    if (chance.is(0.3)) await workOn(world, inbox, chance.whole(1, 5)).catch(() => undefined);
  };

  async function retaining(): Promise<PassingInbox | undefined> {
    const made = await newInbox(world, account, `kept-${name}-${chance.whole(1, 1e6)}`);
    if (made === undefined) return undefined;
    await eventually(world, chance, async () => {
      const body = { retentionDays: usualDays };
      return (await ask(world, account, "PATCH", `/inboxes/${made.id}`, { body })).status === 200;
    });
    return made;
  }

  /** All mail that is not due yet. */
  async function areThere({ id }: PassingInbox): Promise<void> {
    const shown = await ask(world, account, "GET", `/inboxes/${id}/messages?limit=100`).catch(() => undefined);
    if (shown?.status !== 200) return;
    const subjects = new Set((shown.body.data as { subject: string }[]).map(({ subject }) => subject));
    for (const [token, fromMs] of recent) {
      if (Date.now() > fromMs + keptMs - marginMs) recent.delete(token);
      else if (!subjects.has(token)) ledger.violation("P3.3", `${token} was removed from ${id} before it was due`);
      else ledger.count("retention: mail that was not due was there");
    }
  }
}

/** Makes inboxes, and deletes each with its mail, some of which comes at that moment. */
export function eraser(world: World, chance: Chance, account: LedgerAccount, name: string): Driver {
  const { ledger } = world;
  let number = 0;

  return async function eraseOne() {
    number += 1;
    const inbox = await newInbox(world, account, `erased-${name}-${number}`);
    if (inbox === undefined) return;
    const tokenOf = (letter: string) => `e${name}n${number}${letter}z4x`;
    const first = ["a", "b", "c"].slice(0, chance.whole(1, 3));
    await Promise.all(
      first.map((letter) => receive(world, chance, inbox, tokenOf(letter), { hasFile: chance.is(0.3) })),
    );
    if (chance.is(0.5)) await send(world, chance, inbox, tokenOf("s"));
    const late = receive(world, chance, inbox, tokenOf("l"), { mayBeRefused: "gone" });
    inbox.deletedMs = Date.now();
    await eventually(world, chance, async () => {
      const { status } = await ask(world, account, "DELETE", `/inboxes/${inbox.id}`);
      if (status !== 204 && status !== 404 && status !== 503)
        ledger.violation("api", `the deletion of ${inbox.id} was answered ${status}`);
      return status === 204 || status === 404;
    });
    await late;
    ledger.count("inboxes deleted");
  };
}

/** Undefined without an answer: an inbox that was made all the same stays empty. */
async function newInbox(world: World, account: LedgerAccount, username: string): Promise<PassingInbox | undefined> {
  const answer = await ask(world, account, "POST", "/inboxes", { body: { username } }).catch(() => undefined);
  if (answer?.status !== 201) return undefined;
  const { id, address } = answer.body as { id: string; address: string };
  const inbox = { id, address, account, mails: [], sends: [], deletedMs: undefined };
  world.ledger.passing.push(inbox);
  return inbox;
}

interface Arriving {
  ancestor?: string | undefined;
  hasFile?: boolean;
  mayBeRefused?: LedgerMail["mayBeRefused"];
}

async function receive(
  world: World,
  chance: Chance,
  inbox: PassingInbox,
  token: string,
  { ancestor, hasFile = false, mayBeRefused }: Arriving,
): Promise<void> {
  const raw = plainMail(token, inbox.address, { ancestor, hasFile });
  const mail: LedgerMail = newMail(world, token, [inbox], raw, mayBeRefused);
  inbox.mails.push(mail);
  await eventually(world, chance, () => deliver(world, chance, mail, raw));
}

export function plainMail(
  token: string,
  to: string,
  { ancestor, hasFile = false }: Pick<Arriving, "ancestor" | "hasFile"> = {},
): Uint8Array {
  const lines = [
    "From: Sender <sender@mta.example>",
    `To: ${to}`,
    `Subject: ${token}`,
    `Message-ID: <${token}@mta.example>`,
    ...(ancestor === undefined ? [] : [`In-Reply-To: <${ancestor}@mta.example>`]),
    ...(hasFile ? ["Content-Type: text/csv", 'Content-Disposition: attachment; filename="file.csv"'] : []),
    "",
    `The text of ${token}`,
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}

/** A mail that nothing is reported about, since the report of a removed mail is refused. */
async function send(world: World, chance: Chance, inbox: PassingInbox, token: string): Promise<void> {
  const sent = newSend(token, inbox);
  world.ledger.copies.set(token, sent);
  inbox.sends.push(sent);
  const body = { to: `${token}@far1.example`, subject: token, body: "Hello" };
  await eventually(world, chance, async () => {
    sent.open = true;
    const answer = await ask(world, inbox.account, "POST", `/inboxes/${inbox.id}/send`, { body, key: sent.key });
    if (answer.status === 200) sent.messageIds.add(String(answer.body.messageId));
    return answer.status === 200;
  });
}
