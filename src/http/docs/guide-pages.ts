import agents from "../../../docs/agents.md" with { type: "text" };
import console from "../../../docs/console.md" with { type: "text" };
import contract from "../../../docs/contract.md" with { type: "text" };
import deliverability from "../../../docs/deliverability.md" with { type: "text" };
import errors from "../../../docs/errors.md" with { type: "text" };
import events from "../../../docs/events.md" with { type: "text" };
import mcp from "../../../docs/mcp.md" with { type: "text" };
import operations from "../../../docs/operations.md" with { type: "text" };
import performance from "../../../docs/performance.md" with { type: "text" };
import quickstart from "../../../docs/quickstart.md" with { type: "text" };
import receiving from "../../../docs/receiving.md" with { type: "text" };
import sdk from "../../../docs/sdk.md" with { type: "text" };
import sending from "../../../docs/sending.md" with { type: "text" };
import streams from "../../../docs/streams.md" with { type: "text" };
import threads from "../../../docs/threads.md" with { type: "text" };
import webhooks from "../../../docs/webhooks.md" with { type: "text" };
import { decisions } from "./decisions.ts";

export interface GuidePage {
  about: string;
  /** Markdown. */
  text: string;
}

/** The guides in reading order. They are in the binary, so that they fit its version and need no network. */
export const guidePages: Readonly<Record<string, GuidePage>> = {
  quickstart: { about: "from nothing to a mail that is received, read and answered", text: quickstart },
  receiving: { about: "what the SMTP listener answers, reading messages, the event log", text: receiving },
  sending: { about: "send and reply, idempotency keys, what became of a mail", text: sending },
  threads: { about: "how mails join a thread, the read flag, the loop of an agent", text: threads },
  agents: { about: "wait for one mail, codes and links in it", text: agents },
  mcp: { about: "tools for language models: how to set them up, what they do, how mail is marked", text: mcp },
  webhooks: { about: "set one, verify signatures, retries", text: webhooks },
  events: { about: "write a receiver: payload, verification in three languages, retries, order", text: events },
  streams: {
    about: "every event as it happens: by curl, in a page, at a socket; tokens, other origins",
    text: streams,
  },
  sdk: { about: "the TypeScript client: send, wait, lists, streams, webhooks, errors", text: sdk },
  console: { about: "mail in a browser: sign in, what is there, keys", text: console },
  deliverability: {
    about: "what comes back about mail, addresses that nothing is sent to, relays that rename mails",
    text: deliverability,
  },
  errors: { about: "every error code with its cure, every limit", text: errors },
  operations: {
    about: "run it: DNS, TLS, databases, backup, upgrade, many processes, metrics, logs",
    text: operations,
  },
  performance: { about: "how fast it is beside its peers, where the time goes, how to measure it", text: performance },
  contract: { about: "what it promises, numbered", text: contract },
  decisions: { about: "what was chosen where a standard or the contract leaves a choice, and why", text: decisions },
};

export function guideTitle({ text }: GuidePage): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}
