import { describe, expect, test } from "bun:test";
import { type OldMessage, removableOf, retainedSince } from "../../src/domain/removal.ts";

const at = new Date("2026-03-21T10:05:00Z");
const mib = 1 << 20;

/** Messages numbered from 1: `o` is old, `p` old and waiting to be sent, `n` new. */
function messagesOf(kinds: string, sizeBytes = 1): OldMessage[] {
  return [...kinds].map((kind, index) => ({
    id: `msg_${index + 1}`,
    threadId: "thr_1",
    seq: index + 1,
    direction: kind === "p" ? "outbound" : "inbound",
    directionSeq: index + 1,
    status: kind === "p" ? "pending" : "received",
    createdAt: new Date(at.getTime() + (kind === "n" ? 0 : -1)),
    sizeBytes,
    attachmentCount: 0,
  }));
}

describe("A step of a removal", () => {
  const rows: [name: string, messages: OldMessage[], limit: number, removed: number[], next: number | undefined][] = [
    ["removes all old messages if the inbox has no more", messagesOf("oooo"), 5, [1, 2, 3, 4], undefined],
    ["goes on after the last one if it has looked at as many as it may", messagesOf("oooo"), 4, [1, 2, 3, 4], 4],
    ["ends at the first new one", messagesOf("oonn"), 4, [1, 2], undefined],
    ["leaves a message that waits to be sent", messagesOf("opoo"), 4, [1, 3, 4], 4],
    ["goes on after messages that all wait", messagesOf("ppp"), 3, [], 3],
    ["does nothing in an empty inbox", [], 4, [], undefined],
    ["removes at most 16 MiB", messagesOf("ooo", 8 * mib), 4, [1, 2], 2],
    ["removes at least one message", messagesOf("oo", 26 * mib), 4, [1], 1],
    ["does not count the bytes of those that stay", messagesOf("ppo", 16 * mib), 4, [3], undefined],
  ];
  test.each(rows)("%s", (_, messages, limit, removed, next) => {
    const step = removableOf(messages, at, limit);
    expect([step.messages.map(({ seq }) => seq), step.next]).toEqual([removed, next]);
  });
});

test.each<[string, number | null, number, number | undefined]>([
  ["no days anywhere", null, 0, undefined],
  ["those of the service alone", null, 3, 3],
  ["those of the inbox alone", 2, 0, 2],
  ["the fewer of both", 5, 4, 4],
])("mail is kept for %s", (_, own, service, days) => {
  const since = retainedSince(own, service, at);
  expect(since && (at.getTime() - since.getTime()) / 86_400_000).toBe(days);
});
