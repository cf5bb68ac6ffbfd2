import type { Chance } from "../../tests/support/chance.ts";
import { deliver, newMail } from "./deliver.ts";
import { wireDomain } from "./relay.ts";
import { ask, type Driver, eventually, type World } from "./world.ts";

/** A recipient that answers a relayed mail by the Message-ID that the relay gave it. */
export function replier(world: World, chance: Chance, name: string): Driver {
  const { ledger } = world;
  let number = 0;

  return async function replyOnce() {
    const sends = [...ledger.sends.values()].filter(({ messageIds }) => messageIds.size > 0);
    if (sends.length === 0) return;
    const { inbox, messageIds } = chance.pick(sends);
    const [messageId] = messageIds;
    const shown = await ask(world, inbox.account, "GET", `/messages/${messageId}`).catch(() => undefined);
    const { threadId, providerMessageId, status } = shown?.body ?? {};
    if (status !== "sent" || typeof providerMessageId !== "string" || providerMessageId.startsWith("<")) return;
    number += 1;
    const token = `w${name}n${number}`;
    const lines = [
      "From: Reader <reader@mta.example>",
      `To: ${inbox.address}`,
      `Subject: ${token}`,
      `Message-ID: <${token}@mta.example>`,
      `In-Reply-To: <${providerMessageId}@${wireDomain}>`,
      "",
      "Thank you",
      "",
    ];
    const raw = Buffer.from(lines.join("\r\n"));
    const mail = newMail(world, token, [inbox], raw);
    ledger.answers.set(token, String(threadId));
    await eventually(world, chance, () => deliver(world, chance, mail, raw));
  };
}
