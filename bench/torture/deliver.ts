import type { Chance } from "../../tests/support/chance.ts";
import { digestOf, type LedgerInbox, type LedgerMail, type RecipientState } from "./ledger.ts";
import { inSession, stuffed } from "./smtp-client.ts";
import type { World } from "./world.ts";

/** Enters a new mail into the ledger, before any attempt. */
export function newMail(
  { ledger }: World,
  token: string,
  recipients: readonly LedgerInbox[],
  raw: Uint8Array,
): LedgerMail {
  const mail = {
    token,
    messageId: `${token}@mta.example`,
    digest: digestOf(raw),
    recipients: new Map(recipients.map(({ address }) => [address, { acknowledged: false, open: false }])),
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
  const waiting = [...mail.recipients].filter(([, state]) => again || !state.acknowledged);
  const accepted: RecipientState[] = [];
  await inSession(world, chance, async (client, ask) => {
    await ask(`MAIL FROM:<sender@mta.example> SIZE=${raw.length}`, "2");
    for (const [address, state] of waiting) {
      const reply = await ask(`RCPT TO:<${chance.is(0.1) ? address.toUpperCase() : address}>`);
      if (reply.startsWith("2")) accepted.push(state);
      else if (reply.startsWith("5")) ledger.violation("I1", `RCPT of ${address}, which exists, was answered ${reply}`);
    }
    if (accepted.length === 0) return;
    await ask("DATA", "3");
    for (const state of accepted) state.open = true;
    client.send(Buffer.concat([stuffed(raw), Buffer.from("\r\n.\r\n")]));
    const reply = await client.reply();
    ledger.count(`smtp: final dot answered ${reply.slice(0, 3)}`);
    if (reply.startsWith("2")) for (const state of accepted) state.acknowledged = true;
    else if (reply.startsWith("5")) ledger.violation("I1", `the final dot of ${mail.token} was answered ${reply}`);
  });
  return [...mail.recipients.values()].every(({ acknowledged }) => acknowledged);
}
