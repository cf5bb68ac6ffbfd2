import { type Automated, mayBeEcho } from "../automated.ts";
import { overLimit } from "../limits.ts";
import { isOwnAddress, untagged } from "./recipients/own-address.ts";

/** A message of the thread that is answered, as far as it tells of a loop. */
export interface RecentMessage {
  direction: "inbound" | "outbound";
  fromAddr: string;
  toAddr: string;
  /** All who are named beside, of a mail to several. */
  toAddrs?: readonly string[] | null;
  cc?: readonly string[];
  createdAt: Date;
  automated: Automated | null;
  messageIdHash: string;
}

/** So many of a thread are looked at. */
export const mostRecentMessages = 50;

/** Programs that answer every mail answer at once; a ticket system tells later what people have done. */
const promptMs = 5 * 60_000;
const countedMs = 24 * 3_600_000;

export interface LoopFacts {
  /** To whom the send is. */
  to: string;
  /** Of its thread, the newest first. */
  recent: readonly RecentMessage[];
  ownAddresses: readonly string[];
}

/**
 * Refuses to answer a program that has answered our last mails. An echo is a mail that came promptly behind a mail of ours to its
 * sender, and that shows a robot or is our own mail come back. Our own mail counts against the recipient who returned it. A mail
 * from there that is no echo begins the count anew.
 */
export function refuseLoop({ to, recent, ownAddresses }: LoopFacts, limit: number, at: Date): void {
  const last = recent.find(({ direction }) => direction === "inbound");
  const partner = senderForm(to);
  if (limit === 0 || last === undefined || !isFrom(last, partner, recent, ownAddresses)) return;
  const after = new Date(at.getTime() - countedMs);
  const echoes = lastEchoes(partner, recent, ownAddresses).filter(({ createdAt }) => createdAt > after);
  if (echoes.length < limit) return;
  const oldestMs = echoes.at(-1)?.createdAt.getTime() ?? at.getTime();
  const what = "prompt automatic answers of this recipient in this thread";
  throw overLimit("loop_detected", what, limit, echoes.length, new Date(oldestMs + countedMs), at);
}

/** All echoes of a sender since its last mail that was none, the newest first. */
function lastEchoes(
  partner: string,
  recent: readonly RecentMessage[],
  ownAddresses: readonly string[],
): readonly RecentMessage[] {
  const echoes: RecentMessage[] = [];
  let ours: readonly RecentMessage[] | undefined;
  for (const message of recent) {
    if (message.direction === "outbound" || !isFrom(message, partner, recent, ownAddresses)) continue;
    const isRobots = message.automated !== null && mayBeEcho(message.automated);
    if (!isRobots && !isOwnMail(message, recent, ownAddresses)) break;
    // Most replies are to people, and need to know nothing of whom ours went to.
    ours ??= recent.filter((each) => each.direction === "outbound" && wentTo(each, partner));
    if (!isPrompt(message, recent, ours)) break;
    echoes.push(message);
  }
  return echoes;
}

/** Whether a mail came from this recipient: as its sender, or as the recipient of a mail of ours that came back. */
function isFrom(
  message: RecentMessage,
  partner: string,
  recent: readonly RecentMessage[],
  ownAddresses: readonly string[],
): boolean {
  if (senderForm(message.fromAddr) === partner) return true;
  if (!isOwnMail(message, recent, ownAddresses)) return false;
  const ours = recent.filter(({ direction }) => direction === "outbound");
  const returned =
    ours.find(({ messageIdHash }) => messageIdHash === message.messageIdHash) ??
    ours.find((each) => recent.indexOf(each) > recent.indexOf(message));
  return returned !== undefined && wentTo(returned, partner);
}

/** Whether the last of our mails before this one was sent a short time before it. */
function isPrompt(message: RecentMessage, recent: readonly RecentMessage[], ours: readonly RecentMessage[]): boolean {
  const place = recent.indexOf(message);
  const answered = ours.find((each) => recent.indexOf(each) > place);
  return answered !== undefined && message.createdAt.getTime() - answered.createdAt.getTime() <= promptMs;
}

/** Whether a mail that came in is one of ours: it bears our address, or the Message-ID of a mail that we sent. */
function isOwnMail(
  { fromAddr, messageIdHash }: RecentMessage,
  recent: readonly RecentMessage[],
  ownAddresses: readonly string[],
): boolean {
  if (isOwnAddress(fromAddr, ownAddresses)) return true;
  return recent.some((each) => each.direction === "outbound" && each.messageIdHash === messageIdHash);
}

function wentTo({ toAddr, toAddrs, cc }: RecentMessage, sender: string): boolean {
  return [toAddr, ...(toAddrs ?? []), ...(cc ?? [])].some((each) => senderForm(each) === sender);
}

/** A sender as loops know it: programs answer as `ticket+7@` or `ticket-8@`, with another number each time. */
function senderForm(address: string): string {
  return untagged(address).replace(/^[^@]+/, (local) => local.replace(/[0-9]/g, ""));
}
