import { parseMail } from "../../src/mail/read/parse.ts";
import type { ScriptedSmtp } from "./scripted-smtp.ts";
import { newInbox, send } from "./sends.ts";
import { untilSo } from "./until.ts";
import type { World } from "./world.ts";

export const boss = "boss@example.org";
export const cfo = "cfo@example.org";

export const approvalEnv = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", LOOP_ECHOES: "0" };

/** An inbox whose mail waits for these approvers, and the key of an agent that sends from it. */
export async function approvedInbox(
  world: World,
  approvers: readonly string[] | null = [boss],
  apiKey: string = world.apiKey,
) {
  const inboxId = await newInbox(world, apiKey);
  const settings = { sendPolicy: "approve_all", ...(approvers !== null && { approvers }) };
  const changed = await world.api(`/v1/inboxes/${inboxId}`, { method: "PATCH", body: settings, apiKey });
  if (changed.status !== 200) throw new Error(`Cannot change the inbox: ${JSON.stringify(changed.body)}`);
  const { body: key } = await world.api("/v1/keys", { method: "POST", body: { access: "agent" }, apiKey });
  const agentKey: string = key.key;
  return {
    inboxId,
    agentKey,
    /** Sends a mail, which then waits. Returns its id. */
    async ask(body: object = {}): Promise<string> {
      const asked = await send(world, inboxId, body, { apiKey: agentKey });
      if (asked.body.state !== "awaiting_approval") throw new Error(`It does not wait: ${JSON.stringify(asked.body)}`);
      return asked.body.messageId;
    },
  };
}

export interface SeenLetter {
  subject: string;
  text: string;
  from: string;
  links: string[];
}

/** The letters that a relay has taken for an address. */
export async function lettersTo(relay: Pick<ScriptedSmtp, "mails">, address = boss): Promise<SeenLetter[]> {
  const raws = relay.mails.filter(({ to }) => to === address).map(({ raw }) => raw);
  return Promise.all(
    raws.map(async (raw) => {
      const { subject, bodyText: text, from } = await parseMail(raw, { mailDomain: "inbox.localhost" });
      return { subject, text, from: from?.address ?? "", links: text.match(/^https?:\S+\/approve\/\S+$/gm) ?? [] };
    }),
  );
}

/** Waits until a relay has taken this number of letters for an address. Returns the last one. */
export async function letterNumber(
  relay: Pick<ScriptedSmtp, "mails">,
  number: number,
  address = boss,
): Promise<SeenLetter> {
  await untilSo(() => relay.mails.filter(({ to }) => to === address).length >= number);
  const letter = (await lettersTo(relay, address))[number - 1];
  if (letter === undefined) throw new Error(`Letter ${number} is not there`);
  return letter;
}

/** Sends the form of an approval page. */
export function decide(
  url: string,
  decision: "approve" | "reject",
  { version = 1, reason = "" }: { version?: number; reason?: string } = {},
): Promise<Response> {
  return fetch(url, {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ decision, reason, version: String(version) }),
  });
}

/** The status and the title of a page. */
export async function titleOf(url: string): Promise<[status: number, title: string | undefined]> {
  const answer = await fetch(url);
  return [answer.status, /<h1>(.*)<\/h1>/.exec(await answer.text())?.[1]];
}
