import type { Schemas } from "../api.ts";
import type { Step } from "../parts/steps.tsx";

type Message = Schemas["Message"];

/** When the service said so, where its log still tells. */
export interface ToldAt {
  sentAt: string | undefined;
  failedAt: string | undefined;
}

/** The line of steps: accepted, relayed, and what the other side made of it. */
export function lifeOf(message: Message, { sentAt, failedAt }: ToldAt): Step[] {
  if (message.direction === "inbound") {
    return [
      { name: "Received", at: message.createdAt, state: "done", note: `from ${message.envelopeFrom || "nobody"}` },
      { name: "Kept", at: message.createdAt, state: "done", note: `for ${message.toAddr}` },
    ];
  }
  const accepted: Step = { name: "Accepted", at: message.createdAt, state: "done", note: "on disk, in the outbox" };
  if (message.status === "pending")
    return [accepted, { name: "Relay", state: "now" }, { name: "Delivery", state: "open" }];
  if (message.status === "failed") {
    const note = message.failure === null ? undefined : failureWords(message.failure);
    return [accepted, { name: "Refused", at: failedAt, state: "failed", note }];
  }
  return [
    accepted,
    { name: "Relayed", at: sentAt, state: "done", note: message.providerMessageId ?? undefined },
    lastStep(message),
  ];
}

function lastStep({ delivery }: Message): Step {
  if (!delivery)
    return { name: "Delivery", state: "open", note: "nothing has come back, which is how it is when all is well" };
  const { state, at, diagnostic } = delivery;
  const note = diagnostic ?? undefined;
  const name = { delayed: "Delayed", delivered: "Delivered", bounced: "Bounced", complained: "Complaint" }[state];
  return { name, at, note, state: state === "delivered" ? "done" : state === "delayed" ? "now" : "failed" };
}

export function failureWords({ code, enhancedCode, message }: Schemas["Failure"]): string {
  return [code, enhancedCode, message].filter((part) => part !== null).join(" ");
}
