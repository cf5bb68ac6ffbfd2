import type { Chance } from "../../tests/support/chance.ts";
import { type RawSmtp, rawSmtp } from "../../tests/support/raw-smtp.ts";
import type { World } from "./world.ts";

/** Asks, and throws where the reply does not begin as it should. */
export type AskSmtp = (line: string, wanted?: string) => Promise<string>;

/** One session with a process that listens, as a mail server elsewhere holds it. */
export async function inSession(
  { fleet, ledger }: World,
  chance: Chance,
  talk: (client: RawSmtp, ask: AskSmtp) => Promise<void>,
): Promise<void> {
  const running = fleet.any();
  if (running === undefined) throw new Error("Nothing listens");
  const client = await rawSmtp(running.smtpPort);
  // A process that was stopped says nothing for as long as it likes.
  const deadline = setTimeout(() => client.destroy(), 12_000);
  try {
    const ask: AskSmtp = async (line, wanted = "") => {
      const reply = await client.ask(line);
      if (reply.startsWith("4")) ledger.count(`smtp: ${reply.slice(0, 9)}`);
      if (!reply.startsWith(wanted)) throw new Error(reply);
      return reply;
    };
    if (!(await client.reply()).startsWith("220")) throw new Error("No greeting");
    await ask("EHLO mta.example", "2");
    await talk(client, ask);
    if (chance.is(0.8)) await client.ask("QUIT");
  } finally {
    clearTimeout(deadline);
    client.destroy();
  }
}

/** Without the last CRLF, which the final dot brings along. */
export function stuffed(raw: Uint8Array): Buffer {
  const text = Buffer.from(raw).toString("latin1").replace(/\r\n$/, "").replace(/^\./gm, "..");
  return Buffer.from(text, "latin1");
}
