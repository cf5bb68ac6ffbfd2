import type { Chance } from "../../tests/support/chance.ts";
import { type RawSmtp, rawSmtp } from "../../tests/support/raw-smtp.ts";
import type { World } from "./world.ts";

/** Sends a command; throws if the reply does not begin as expected. */
export type AskSmtp = (line: string, wanted?: string) => Promise<string>;

/** One session of a foreign mail server with a process. */
export async function inSession(
  { fleet, ledger }: World,
  chance: Chance,
  talk: (client: RawSmtp, ask: AskSmtp) => Promise<void>,
): Promise<void> {
  const running = fleet.any();
  if (running === undefined) throw new Error("Nothing listens");
  const client = await rawSmtp(running.smtpPort);
  // A stopped process does not answer.
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

/** Without the last CRLF, which belongs to the final dot. */
export function stuffed(raw: Uint8Array): Buffer {
  const text = Buffer.from(raw).toString("latin1").replace(/\r\n$/, "").replace(/^\./gm, "..");
  return Buffer.from(text, "latin1");
}
