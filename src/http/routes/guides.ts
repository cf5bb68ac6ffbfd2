import { Elysia } from "elysia";
import contract from "../../../docs/contract.md" with { type: "text" };
import decisions from "../../../docs/decisions.md" with { type: "text" };
import errors from "../../../docs/errors.md" with { type: "text" };
import events from "../../../docs/events.md" with { type: "text" };
import operations from "../../../docs/operations.md" with { type: "text" };
import performance from "../../../docs/performance.md" with { type: "text" };
import quickstart from "../../../docs/quickstart.md" with { type: "text" };
import receiving from "../../../docs/receiving.md" with { type: "text" };
import sending from "../../../docs/sending.md" with { type: "text" };
import threads from "../../../docs/threads.md" with { type: "text" };
import webhooks from "../../../docs/webhooks.md" with { type: "text" };
import { notFound } from "../../domain/errors.ts";

/** The documentation for users, carried in the binary: it tells of this version, and needs no network. */
const pages: Readonly<Record<string, { about: string; text: string }>> = {
  quickstart: { about: "from nothing to a mail that is received, read and answered", text: quickstart },
  sending: { about: "send and reply, idempotency keys, what became of a mail", text: sending },
  receiving: { about: "what the SMTP listener answers, reading messages, the event log", text: receiving },
  threads: { about: "how mails join a thread, the read flag, the loop of an agent", text: threads },
  webhooks: { about: "set one, verify signatures, retries", text: webhooks },
  events: { about: "write a receiver: payload, verification in three languages, retries, order", text: events },
  errors: { about: "every error code with its cure, every limit", text: errors },
  operations: {
    about: "run it: DNS, TLS, databases, backup, upgrade, many processes, metrics, logs",
    text: operations,
  },
  performance: { about: "how fast it is beside its peers, where the time goes, how to measure it", text: performance },
  contract: { about: "what it promises, numbered", text: contract },
  decisions: { about: "what the service does where mail standards leave a choice", text: decisions },
};

/** For people with curl and for language models (llmstxt.org); the page at /docs is for browsers. */
export function guides(baseUrl: () => string) {
  return new Elysia()
    .get(
      "/llms.txt",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "text/plain; charset=utf-8" });
        return indexOf(baseUrl());
      },
      hidden,
    )
    .get(
      "/docs/:name",
      ({ params, set }) => {
        // What can't be decoded comes as null, whatever the type says.
        const name = params.name ?? "";
        const page = name.endsWith(".md") ? name.slice(0, -".md".length) : "";
        const found = Object.hasOwn(pages, page) ? pages[page] : undefined;
        if (found === undefined) throw notFound("route");
        Object.assign(set.headers, { ...headers, "content-type": "text/markdown; charset=utf-8" });
        return found.text;
      },
      hidden,
    );
}

const hidden = { detail: { hide: true } };

const headers = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

function indexOf(baseUrl: string): string {
  const lines = Object.entries(pages).map(
    ([page, { about, text }]) => `- [${titleOf(text)}](${baseUrl}/docs/${page}.md): ${about}`,
  );
  return `# inboxd

> Real email addresses for users, workspaces and software agents: an HTTP JSON API and an SMTP listener. Make an inbox, receive mail by signed webhook or event log, reply in threads, send once for each idempotency key.

Every request to ${baseUrl}/v1 needs \`Authorization: Bearer <API key>\`. Failures are problem+json: branch on \`code\`.

## Documentation

${lines.join("\n")}

## Reference

- [OpenAPI document](${baseUrl}/openapi.json): every operation with its fields, refusals and examples
`;
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? "";
}
