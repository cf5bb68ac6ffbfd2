import { type Automated, mayBeEcho } from "../automated.ts";
import { overLimit } from "../limits.ts";
import { isOwnAddress, untagged } from "./recipients/own-address.ts";

/** A message of the answered thread, with the fields that the check for a loop needs. */
export interface RecentMessage {
  direction: "inbound" | "outbound";
  fromAddr: string;
  toAddr: string;
  toAddrs: readonly string[];
  cc: readonly string[];
  createdAt: Date;
  automated: Automated | null;
  messageIdHash: string;
}

/** The most messages of a thread that are examined. */
export const mostRecentMessages = 50;

/** An answer within this time is prompt. Programs that answer every mail do so at once; a ticket system waits for people. */
const promptMs = 5 * 60_000;
const countedMs = 24 * 3_600_000;

export interface LoopFacts {
  /** A recipient of the send. */
  to: string;
  /** The last messages of its thread, newest first. */
  recent: readonly RecentMessage[];
  ownAddresses: readonly string[];
}

/**
 * Refuses a send if the last inbound mail of the thread is from its recipient, and at least `limit` echoes came from them within 24 hours.
 * An echo is a mail that came within five minutes after our mail to its sender, and that a robot wrote or that is our own mail returned.
 * A returned mail counts for the recipient who returned it. A mail from the same sender that is not an echo resets the count.
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

/** All echoes from a sender since its last mail that was not an echo, newest first. */
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
    // Computed only here, because most sends answer people and never need it.
    ours ??= recent.filter((each) => each.direction === "outbound" && wentTo(each, partner));
    if (!isPrompt(message, recent, ours)) break;
    echoes.push(message);
  }
  return echoes;
}

/** Whether a mail came from this partner: as its sender, or as the recipient of our mail that was returned. */
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

/** Whether a mail came within `promptMs` after our last mail to its sender. */
function isPrompt(message: RecentMessage, recent: readonly RecentMessage[], ours: readonly RecentMessage[]): boolean {
  const found = recent.indexOf(message);
  const answered = ours.find((each) => recent.indexOf(each) > found);
  return answered !== undefined && message.createdAt.getTime() - answered.createdAt.getTime() <= promptMs;
}

/** Whether an inbound mail is our own mail, returned: its sender is our address, or it has the Message-ID of a mail that we sent. */
function isOwnMail(
  { fromAddr, messageIdHash }: RecentMessage,
  recent: readonly RecentMessage[],
  ownAddresses: readonly string[],
): boolean {
  if (isOwnAddress(fromAddr, ownAddresses)) return true;
  return recent.some((each) => each.direction === "outbound" && each.messageIdHash === messageIdHash);
}

function wentTo({ toAddr, toAddrs, cc }: RecentMessage, sender: string): boolean {
  return [toAddr, ...toAddrs, ...cc].some((each) => senderForm(each) === sender);
}

/** An address without its tag and digits: programs answer from `ticket+7@` or `ticket-8@`, with another number each time. */
function senderForm(address: string): string {
  return untagged(address).replace(/^[^@]+/, (local) => local.replace(/[0-9]/g, ""));
}
