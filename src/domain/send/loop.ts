import type { Automated, AutomatedKind } from "../automated.ts";
import { overLimit } from "../limits.ts";

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
}

/** So many of a thread are looked at. */
export const mostRecentMessages = 50;

/** Programs that answer every mail answer at once; a ticket system tells later what people have done. */
const promptMs = 5 * 60_000;
const countedMs = 24 * 3_600_000;

const echoing: readonly AutomatedKind[] = ["auto_reply", "delivery_report", "notification"];

export interface LoopFacts {
  /** To whom the send is. */
  to: string;
  /** Of its thread, the newest first. */
  recent: readonly RecentMessage[];
}

/**
 * Refuses to answer a program that has answered our last mails: an echo is a mail of a robot that came promptly behind a mail of ours
 * to it. A mail of its that shows no sign of a robot begins the count anew.
 */
export function refuseLoop({ to, recent }: LoopFacts, limit: number, at: Date): void {
  const last = recent.find(({ direction }) => direction === "inbound");
  const partner = to.toLowerCase();
  if (limit === 0 || last?.fromAddr.toLowerCase() !== partner || !isEcho(last, recent)) return;
  const after = new Date(at.getTime() - countedMs);
  const echoes = sinceLastOfPerson(partner, recent).filter(
    (message) => message.createdAt > after && isEcho(message, recent),
  );
  if (echoes.length < limit) return;
  const oldestMs = echoes.at(-1)?.createdAt.getTime() ?? at.getTime();
  const what = "prompt automatic answers of this recipient in this thread";
  throw overLimit("loop_detected", what, limit, echoes.length, new Date(oldestMs + countedMs), at);
}

function sinceLastOfPerson(partner: string, recent: readonly RecentMessage[]): readonly RecentMessage[] {
  const his = recent.filter(({ direction, fromAddr }) => direction === "inbound" && fromAddr.toLowerCase() === partner);
  const ofPerson = his.findIndex(({ automated }) => automated === null);
  return ofPerson < 0 ? his : his.slice(0, ofPerson);
}

function isEcho(message: RecentMessage, recent: readonly RecentMessage[]): boolean {
  if (message.automated === null || !echoing.includes(message.automated.kind)) return false;
  const sender = message.fromAddr.toLowerCase();
  const before = recent.slice(recent.indexOf(message) + 1);
  const ours = before.find((each) => each.direction === "outbound" && wentTo(each, sender));
  return ours !== undefined && message.createdAt.getTime() - ours.createdAt.getTime() <= promptMs;
}

function wentTo({ toAddr, toAddrs, cc }: RecentMessage, address: string): boolean {
  return [toAddr, ...(toAddrs ?? []), ...(cc ?? [])].some((each) => each.toLowerCase() === address);
}
