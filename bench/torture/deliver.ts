import type { Chance } from "../../tests/support/chance.ts";
import {
  between,
  closureAt,
  digestOf,
  type LedgerInbox,
  type LedgerMail,
  mayBeClosed,
  type RecipientState,
} from "./ledger.ts";
import { inSession, stuffed } from "./smtp-client.ts";
import type { World } from "./world.ts";

/** Enters a new mail into the ledger, before any attempt. */
export function newMail(
  { ledger }: World,
  token: string,
  recipients: readonly Pick<LedgerInbox, "address">[],
  raw: Uint8Array,
  mayBeRefused?: LedgerMail["mayBeRefused"],
): LedgerMail {
  const mail: LedgerMail = {
    token,
    messageId: `${token}@mta.example`,
    digest: digestOf(raw),
    recipients: new Map(
      recipients.map(({ address }) => [address, { acknowledged: false, open: false, attempts: [], answers: [] }]),
    ),
    mayBeRefused,
  };
  ledger.mails.set(token, mail);
  return mail;
}

/** One attempt to hand a mail in. True if nothing is left to do. */
export async function deliver(
  world: World,
  chance: Chance,
  mail: LedgerMail,
  raw: Uint8Array,
  again = false,
): Promise<boolean> {
  const { ledger } = world;
  const waiting = [...mail.recipients].filter(([, state]) => again || !isDone(state));
  const accepted: { state: RecipientState; wasOpen: boolean }[] = [];
  await inSession(world, chance, async (client, ask) => {
    await ask(`MAIL FROM:<sender@mta.example> SIZE=${raw.length}`, "2");
    for (const [address, state] of waiting) {
      const askedMs = Date.now();
      const reply = await ask(`RCPT TO:<${chance.is(0.1) ? address.toUpperCase() : address}>`);
      checkClosure(world, address, reply, askedMs);
      const isAccepted = reply.startsWith("2");
      if (isAccepted || reply.startsWith("5")) state.answers.push({ askedMs, answeredMs: Date.now(), isAccepted });
      if (isAccepted) accepted.push({ state, wasOpen: state.open });
      else if (reply.startsWith("5") && mail.mayBeRefused !== "gone")
        ledger.violation("I1", `RCPT of ${address}, which exists, was answered ${reply}`);
    }
    if (accepted.length === 0) return;
    await ask("DATA", "3");
    const askedMs = Date.now();
    const attempt = { fromMs: askedMs, untilMs: Number.POSITIVE_INFINITY };
    for (const { state } of accepted) {
      state.open = true;
      state.attempts.push(attempt);
    }
    client.send(Buffer.concat([stuffed(raw), Buffer.from("\r\n.\r\n")]));
    const reply = await client.reply().finally(() => {
      attempt.untilMs = Date.now();
    });
    ledger.count(`smtp: final dot answered ${reply.slice(0, 3)}`);
    const isRefused = reply.startsWith(mail.mayBeRefused === "gone" ? "5" : "550 5.7.1");
    if (reply.startsWith("2")) for (const { state } of accepted) state.acknowledged = true;
    else if (mail.mayBeRefused !== undefined && isRefused)
      for (const { state, wasOpen } of accepted) noteRefusal(state, askedMs, wasOpen);
    else if (reply.startsWith("5")) ledger.violation("I1", `the final dot of ${mail.token} was answered ${reply}`);
  });
  return [...mail.recipients.values()].every(isDone);
}

/** Notes that a whole mail was refused. It is not stored then, unless an earlier attempt stored it. */
export function noteRefusal(state: RecipientState, askedMs: number, wasOpen: boolean): void {
  state.answers.push({ askedMs, answeredMs: Date.now(), isAccepted: false });
  state.open = wasOpen;
}

/** Whether nothing is left to do for a recipient. */
export function isDone({ acknowledged, answers }: RecipientState): boolean {
  return acknowledged || answers.at(-1)?.isAccepted === false;
}

/** Mail for a suspended account stays with its sender, and 450 4.2.1 is for no other account. */
export function checkClosure({ ledger }: World, address: string, reply: string, askedMs: number): void {
  const account = ledger.inboxes.get(address)?.account;
  if (account === undefined) return;
  const answeredMs = Date.now();
  const isClosed = closureAt(ledger, account, askedMs, answeredMs)?.scope === "all";
  const answered = `was answered ${reply}, ${between(askedMs, answeredMs)}`;
  if (isClosed && reply.startsWith("2"))
    ledger.violation("P2.4", `RCPT of ${address}, whose account is suspended, ${answered}`);
  if (reply.startsWith("450 4.2.1") && !mayBeClosed(ledger, account, askedMs))
    ledger.violation("P2.4", `RCPT of ${address}, whose account is open, was answered ${reply}`);
}
