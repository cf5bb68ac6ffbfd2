import { Tag, type Tone } from "./tag.tsx";

const tones: Readonly<Record<string, Tone>> = {
  received: "accent",
  pending: "warm",
  sent: "good",
  failed: "bad",
  delivered: "good",
  bounced: "bad",
  complained: "bad",
  delayed: "warm",
  ready: "accent",
  running: "accent",
  waiting: "warm",
  none: "plain",
};

const words: Readonly<Record<string, string>> = { none: "not told", running: "on the wire" };

/** What a mail, a delivery or a row of the outbox came to, so far. */
export function StatusTag({ status }: { status: string }) {
  return <Tag tone={tones[status] ?? "plain"}>{words[status] ?? status}</Tag>;
}
