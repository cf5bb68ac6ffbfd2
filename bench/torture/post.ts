import type { Chance } from "../../tests/support/chance.ts";
import { beginRequest } from "../../tests/support/raw-body.ts";
import { checkClosure, isDone, noteRefusal } from "./deliver.ts";
import type { LedgerInbox, LedgerMail } from "./ledger.ts";
import type { World } from "./world.ts";

export const ingestToken = "torture-token-of-mail-by-http-0123456789";
const path = "/v1/inbound";

interface Posted {
  recipients: { address: string; status: string }[];
  code: string;
}

/** One attempt to hand a mail in by HTTP, as a worker at the edge does. True if nothing is left to do. */
export async function post(world: World, mail: LedgerMail, raw: Uint8Array, again = false): Promise<boolean> {
  const { ledger } = world;
  const waiting = new Map([...mail.recipients].filter(([, state]) => again || !isDone(state)));
  const openBefore = new Set([...waiting.values()].filter(({ open }) => open));
  for (const state of waiting.values()) state.open = true;
  const askedMs = Date.now();
  const { status, text } = await answerTo(world, ingestToken, [...waiting.keys()], raw);
  ledger.count(`http: a post was answered ${status}`);
  // With 503 nothing or all may be stored.
  if (status === 503) return false;
  const { recipients = [], code } = JSON.parse(text) as Partial<Posted>;
  const told = new Map(recipients.map((one) => [one.address, one.status]));
  for (const [address, state] of waiting) {
    const outcome = status === 404 ? "unknown" : told.get(address);
    const { mayBeRefused } = mail;
    if (outcome === "stored" || (mayBeRefused === "blocked" && outcome === "quarantined")) {
      state.answers.push({ askedMs, answeredMs: Date.now(), isAccepted: true });
      state.acknowledged = true;
      checkClosure(world, address, "250", askedMs);
    } else if (mayBeRefused === "gone" ? outcome === "unknown" : mayBeRefused && code === "sender_refused") {
      noteRefusal(state, askedMs, openBefore.has(state));
    } else ledger.violation("I1", `${mail.token} by HTTP for ${address}, which exists, was answered ${status} ${text}`);
  }
  return [...mail.recipients.values()].every(isDone);
}

/** Posts a mail for another account's inbox: a key reaches only the inboxes of its own account. */
export async function postBeyondReach(
  world: World,
  { raw, to, apiKey }: { raw: Uint8Array; to: LedgerInbox; apiKey: string },
): Promise<void> {
  const { status, text } = await answerTo(world, apiKey, [to.address], raw);
  world.ledger.count("http: beyond the reach of a key");
  // 403 is for a suspended account.
  if (![404, 403, 503].includes(status))
    world.ledger.violation("I6", `mail by a key of another account for ${to.address} was answered ${status} ${text}`);
}

/** Begins to post a mail and leaves. */
export async function postHalf(world: World, chance: Chance, to: readonly LedgerInbox[], raw: Uint8Array) {
  const running = world.fleet.any();
  if (running === undefined) return;
  world.ledger.count("http: hung up in a mail");
  const request = beginRequest({ service: { apiUrl: new URL(running.apiUrl) } }, path, [
    `Authorization: Bearer ${ingestToken}`,
    "Content-Type: message/rfc822",
    `Envelope-To: ${to.map(({ address }) => address).join(",")}`,
    `Content-Length: ${raw.length}`,
  ]);
  const half = raw.subarray(0, chance.whole(0, raw.length - 1));
  await Promise.race([request.sent(half).catch(() => undefined), request.closed]);
  request.leave();
}

async function answerTo({ fleet }: World, key: string, to: readonly string[], raw: Uint8Array) {
  const running = fleet.any();
  if (running === undefined) throw new Error("Nothing listens");
  const response = await fetch(`${running.inboundUrl ?? running.apiUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "message/rfc822",
      "envelope-from": "sender@mta.example",
      "envelope-to": to.map(encodeURIComponent).join(", "),
    },
    body: raw as Uint8Array<ArrayBuffer>,
    signal: AbortSignal.timeout(12_000),
  });
  return { status: response.status, text: await response.text() };
}
