import { Elysia } from "elysia";
import skill from "../../../docs/skill/SKILL.md" with { type: "text" };
import { notFound } from "../../domain/errors.ts";
import { type GuidePage, grouped, guidePages, guidesOf, guideTitle } from "../docs/guide-pages.ts";
import { madeFor, type ThisServer } from "../docs/this-server.ts";

/** Serves the guides as text, for curl and for language models (llmstxt.org). Browsers have the pages at /docs. */
export function guides(thisServer: () => ThisServer) {
  const texts = madeFor(
    thisServer,
    (server) => new Map(Object.entries(guidesOf(server)).map(([name, guide]) => [name, served(guide)])),
  );
  return new Elysia()
    .get(
      "/llms.txt",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "text/plain; charset=utf-8" });
        return indexOf(thisServer());
      },
      hidden,
    )
    .get(
      "/llms-full.txt",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "text/plain; charset=utf-8" });
        return wholeText(texts());
      },
      hidden,
    )
    .get(
      "/skill.md",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "text/markdown; charset=utf-8" });
        return skill;
      },
      hidden,
    )
    .get(
      "/docs/:name",
      ({ params, set }) => {
        // The router gives null for invalid percent-encoding, although the type does not say so.
        const name = params.name ?? "";
        const page = name.endsWith(".md") ? name.slice(0, -".md".length) : "";
        const found = texts().get(page);
        if (found === undefined) throw notFound("route");
        Object.assign(set.headers, { ...headers, "content-type": "text/markdown; charset=utf-8" });
        return found;
      },
      hidden,
    );
}

const hidden = { detail: { hide: true } };

const headers = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

/** All guides in one text. */
function wholeText(texts: ReadonlyMap<string, string>): string {
  return `${[...texts.values()].map((text) => text.trimEnd()).join("\n\n---\n\n")}\n`;
}

function served({ text }: GuidePage): string {
  return servedGuide(text, (file) => file.endsWith(".md") && Object.hasOwn(guidePages, file.slice(0, -".md".length)));
}

/** The text of a guide without pictures. A link to a file that is not served is replaced by its text. */
function servedGuide(text: string, isHere: (file: string) => boolean): string {
  return text
    .replace(/^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n?/gm, "")
    .replace(/\[([^[\]]*)\]\((?!https?:)([^)#\s]+)(?:#[^)\s]*)?\)/g, (link, words: string, file: string) =>
      isHere(file) ? link : words,
    );
}

function indexOf({ baseUrl }: ThisServer): string {
  const named = Object.entries(guidePages).map(([name, guide]) => ({ name, title: guideTitle(guide), ...guide }));
  const lists = grouped(named).map(
    ([group, within]) =>
      `## ${group}\n\n${within.map(({ name, title, about }) => `- [${title}](${baseUrl}/docs/${name}.md): ${about}`).join("\n")}`,
  );
  return `# inboxd

> Real email addresses for users, workspaces and software agents: an HTTP JSON API and an SMTP listener. Make an inbox, receive mail by signed webhook or event log, reply in threads, send once for each idempotency key.

Every request to ${baseUrl}/v1 needs \`Authorization: Bearer <API key>\`. Failures are problem+json: branch on \`code\`.

${lists.join("\n\n")}

## Reference

- [Agent Skill](${baseUrl}/skill.md): how to work with mail by the command line
- [All guides in one](${baseUrl}/llms-full.txt)
- [OpenAPI document](${baseUrl}/openapi.json): every operation with its fields, refusals and examples
`;
}
