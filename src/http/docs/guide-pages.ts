import agents from "../../../docs/agents.md" with { type: "text" };
import approval from "../../../docs/approval.md" with { type: "text" };
import cells from "../../../docs/cells.md" with { type: "text" };
import connect from "../../../docs/connect.md" with { type: "text" };
import console from "../../../docs/console.md" with { type: "text" };
import contract from "../../../docs/contract.md" with { type: "text" };
import deliverability from "../../../docs/deliverability.md" with { type: "text" };
import documents from "../../../docs/documents.md" with { type: "text" };
import domains from "../../../docs/domains.md" with { type: "text" };
import errors from "../../../docs/errors.md" with { type: "text" };
import events from "../../../docs/events.md" with { type: "text" };
import frameworks from "../../../docs/frameworks.md" with { type: "text" };
import inboundHttp from "../../../docs/inbound-http.md" with { type: "text" };
import inboxes from "../../../docs/inboxes.md" with { type: "text" };
import keys from "../../../docs/keys.md" with { type: "text" };
import mcp from "../../../docs/mcp.md" with { type: "text" };
import migrating from "../../../docs/migrating.md" with { type: "text" };
import operations from "../../../docs/operations.md" with { type: "text" };
import operators from "../../../docs/operators.md" with { type: "text" };
import organising from "../../../docs/organising.md" with { type: "text" };
import performance from "../../../docs/performance.md" with { type: "text" };
import quickstart from "../../../docs/quickstart.md" with { type: "text" };
import receivers from "../../../docs/receivers.md" with { type: "text" };
import receiving from "../../../docs/receiving.md" with { type: "text" };
import relays from "../../../docs/relays.md" with { type: "text" };
import scale from "../../../docs/scale.md" with { type: "text" };
import sdk from "../../../docs/sdk.md" with { type: "text" };
import senders from "../../../docs/senders.md" with { type: "text" };
import sending from "../../../docs/sending.md" with { type: "text" };
import streams from "../../../docs/streams.md" with { type: "text" };
import tenants from "../../../docs/tenants.md" with { type: "text" };
import testing from "../../../docs/testing.md" with { type: "text" };
import threads from "../../../docs/threads.md" with { type: "text" };
import usage from "../../../docs/usage.md" with { type: "text" };
import vps from "../../../docs/vps.md" with { type: "text" };
import webhooks from "../../../docs/webhooks.md" with { type: "text" };
import { decisions } from "./decisions.ts";
import { namedAfter, type ThisServer } from "./this-server.ts";

export interface GuidePage {
  /** The heading above it in lists of guides. */
  group: string;
  about: string;
  /** Markdown. */
  text: string;
}

/** The guides in reading order. They are in the binary, so that they fit its version and need no network. */
export const guidePages: Readonly<Record<string, GuidePage>> = {
  ...inGroup("Start", {
    quickstart: { about: "from nothing to a mail that is received, read and answered", text: quickstart },
    console: { about: "mail in a browser: sign in, the screens, keyboard keys", text: console },
    sdk: { about: "the TypeScript client: send, wait, lists, streams, webhooks, errors", text: sdk },
  }),
  ...inGroup("Mail", {
    inboxes: { about: "names, aliases, metadata, retention, an end; disable an inbox", text: inboxes },
    receiving: { about: "what the SMTP listener answers, reading messages, the event log", text: receiving },
    "inbound-http": {
      about: "hand in mail without SMTP: an edge worker, a pipe of Postfix or Exim",
      text: inboundHttp,
    },
    senders: { about: "whether a mail really comes from its sender; who may write and be written to", text: senders },
    sending: { about: "send and reply, idempotency keys, the status of a mail", text: sending },
    approval: {
      about: "an agent writes and a person decides: approve, reject, what the agent is told",
      text: approval,
    },
    threads: { about: "how mails join a thread, the read flag, the loop of an agent", text: threads },
    organising: { about: "folders, labels and your own data on threads; lists by them", text: organising },
    deliverability: {
      about: "bounces and complaints, suppressed addresses, relays that change the Message-ID",
      text: deliverability,
    },
    domains: { about: "inboxes at your own domains: DNS records, states, problems, DKIM keys", text: domains },
  }),
  ...inGroup("Events", {
    webhooks: { about: "set a webhook, verify signatures, retries", text: webhooks },
    events: { about: "write a receiver: payload, verification in three languages, retries, order", text: events },
    streams: {
      about: "every event as it happens: with curl, in a page, by WebSocket; tokens, other origins",
      text: streams,
    },
  }),
  ...inGroup("Agents", {
    agents: { about: "wait for a mail, and get its codes and links", text: agents },
    documents: { about: "the text of attachments: PDF, Office documents, calendars, mails", text: documents },
    mcp: { about: "tools for language models: how to set them up, what they do, how mail is marked", text: mcp },
    connect: { about: "Claude, ChatGPT and other programs that sign in instead of taking a key", text: connect },
    frameworks: {
      about: "the tools in the AI SDK, OpenAI's Agents, chat completions and LangChain; start an agent when mail comes",
      text: frameworks,
    },
  }),
  ...inGroup("Tasks", {
    testing: { about: "take the code of a sign-up mail in CI, with Playwright or the client", text: testing },
    keys: { about: "what a key may do, where, from where and until when; rotation", text: keys },
    tenants: { about: "accounts, keys, tokens and your own ids: which is for what", text: tenants },
    operators: { about: "accounts over HTTP: limits, suspension, audit, removal", text: operators },
    usage: { about: "what an account has used by day or inbox, and its quotas", text: usage },
    vps: { about: "a server of your own, step by step: DNS, Caddy, certificates, systemd", text: vps },
    relays: { about: "Amazon SES, Postmark and Mailgun, each from nothing to a reported bounce", text: relays },
    receivers: { about: "receive events in Next.js, Express, Hono and FastAPI", text: receivers },
    migrating: { about: "the names of Resend, AgentMail, OpenMail and Mailpit beside ours", text: migrating },
  }),
  ...inGroup("Operation", {
    operations: {
      about: "run it: DNS, TLS, databases, backup, upgrade, many processes, metrics, logs",
      text: operations,
    },
    scale: { about: "what to do at which size, the bytes of a mail, cells, other engines", text: scale },
    cells: { about: "several databases behind one balancer; move an account from one to another", text: cells },
    performance: {
      about: "its speed compared with other servers, where the time goes, how to measure it",
      text: performance,
    },
  }),
  ...inGroup("Rules", {
    errors: { about: "every error code and how to solve it, every limit", text: errors },
    contract: { about: "what inboxd promises, in numbered sections", text: contract },
    decisions: { about: "choices that a standard or the contract leaves open, and their reasons", text: decisions },
  }),
};

function inGroup(group: string, pages: Record<string, Omit<GuidePage, "group">>): Record<string, GuidePage> {
  return Object.fromEntries(Object.entries(pages).map(([name, page]) => [name, { group, ...page }]));
}

/** The guides with the addresses of this server in place of the examples. */
export function guidesOf(server: ThisServer): Readonly<Record<string, GuidePage>> {
  return Object.fromEntries(
    Object.entries(guidePages).map(([name, page]) => [name, { ...page, text: namedAfter(server, page.text) }]),
  );
}

export function guideTitle({ text }: GuidePage): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}

/** The groups in reading order, each with its guides. */
export function grouped<Guide extends { group: string }>(guides: readonly Guide[]): [group: string, guides: Guide[]][] {
  return [...Map.groupBy(guides, ({ group }) => group)];
}
