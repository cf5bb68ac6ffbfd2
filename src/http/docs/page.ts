import { fieldsOf } from "./fields-html.ts";
import { guideHtml, inline, type Places } from "./guide-html.ts";
import { type GuidePage, grouped, guideTitle } from "./guide-pages.ts";
import { type Html, html } from "./html.ts";
import { eventHtml, methodBadge, operationHtml } from "./operation-html.ts";
import { type Document, type Group, type Reference, referenceOf } from "./reference.ts";

/**
 * The documentation as one page that is complete without a script: guides, operations, events and schemas. Each part is
 * a `.view` with its own address. The script shows one view at a time, searches, and makes the forms work. Links are
 * relative, so that the page also works behind a proxy with a path prefix.
 */
export function docsPage(document: Document, guides: Guides, version: string): string {
  const reference = referenceOf(document);
  const places: Places = {
    has: (guide) => Object.hasOwn(guides, guide),
    linkTo: (guide, section) => (section === undefined ? `#${guide}` : `#${guide}/${section}`),
    idOf: (guide, section = "top") => `${guide}/${section}`,
  };
  const read = readGuides(guides, places);
  return whole({
    title: "inboxd documentation",
    head: undefined,
    contents: contents(reference, read, places, read),
    main: html`${start(version, read, reference)}
${read.map((guide) => guideSection(guide, read, places))}
${reference.groups.map(groupHtml)}
${
  reference.events.length > 0 &&
  html`<section class="view group" id="event-payloads" tabindex="-1"><h2>Event payloads</h2>
<p class="lead">The JSON that is posted to your webhook. How to receive it: <a href="#events">Receiving events</a>.</p>
${reference.events.map(eventHtml)}</section>`
}
<section class="view" id="schemas" tabindex="-1"><h2>Schemas</h2>
${reference.schemas.map(
  ([name, schema]) => html`<article id="schema-${name}" tabindex="-1"><h3><a href="#schema-${name}">${name}</a></h3>
<p>${inline(schema.description)}</p>${fieldsOf(schema)}</article>`,
)}</section>`,
  });
}

/**
 * The page of one guide, at `docs/<name>`. Its links begin at the address of the whole page, so `#sendEmail` leads to
 * that operation there.
 */
export function guidePage(document: Document, guides: Guides, name: string): string {
  const places: Places = {
    has: (guide) => Object.hasOwn(guides, guide),
    linkTo: (guide, section) => (section === undefined ? `docs/${guide}` : `docs/${guide}#${section}`),
    idOf: (_, section = "top") => section,
  };
  const listed = listedGuides(guides);
  const [shown] = readGuides(guides, places, [name]);
  return whole({
    title: `${shown?.title} · inboxd`,
    head: html`<base href="../docs">
<link rel="alternate" type="text/markdown" href="docs/${name}.md">
`,
    skipTo: `docs/${name}#content`,
    contents: contents(referenceOf(document), listed, places, shown ? [shown] : [], name),
    main: html`${shown && guideSection(shown, listed, places)}`,
  });
}

type Guides = Readonly<Record<string, GuidePage>>;

interface Whole {
  title: string;
  /** Further elements of the head. A `<base>` comes before all addresses. */
  head: Html | undefined;
  /** The address of the content on this page. */
  skipTo?: string;
  contents: Html;
  main: Html;
}

function whole({ title, head, skipTo = "#content", contents: list, main }: Whole): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${head}<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="favicon.svg">
<link rel="stylesheet" href="docs/viewer.css">
<script type="module" src="docs/viewer.js"></script>
</head>
<body>
<a class="skip" href="${skipTo}">Skip to the content</a>
${bar()}
<div class="columns">
<nav id="contents" aria-label="Contents">${list}</nav>
<main id="content" tabindex="-1">
${main}
</main>
</div>
${searchDialog()}
</body>
</html>
`.html;
}

interface ListedGuide {
  name: string;
  title: string;
  group: string;
  about: string;
}

type ReadGuide = ListedGuide & ReturnType<typeof guideHtml>;

function listedGuides(guides: Guides): ListedGuide[] {
  return Object.entries(guides).map(([name, guide]) => ({ name, title: guideTitle(guide), ...guide }));
}

function readGuides(guides: Guides, places: Places, names = Object.keys(guides)): ReadGuide[] {
  return listedGuides(guides)
    .filter(({ name }) => names.includes(name))
    .map((guide) => ({ ...guide, ...guideHtml(guide.name, guides[guide.name]?.text ?? "", places) }));
}

/** A guide, with links to the ones before and after it. */
function guideSection({ name, body }: ReadGuide, guides: readonly ListedGuide[], { linkTo }: Places): Html {
  const index = guides.findIndex((guide) => guide.name === name);
  const [before, next] = [guides[index - 1], guides[index + 1]];
  return html`<section class="view guide" id="${name}" tabindex="-1">${body}
<nav class="beside" aria-label="The guides beside this one">${
    before && html`<a rel="prev" href="${linkTo(before.name)}"><span>Before</span>${before.title}</a>`
  }${next && html`<a rel="next" href="${linkTo(next.name)}"><span>Next</span>${next.title}</a>`}</nav></section>\n`;
}

function bar(): Html {
  return html`<header><div class="top">
<button type="button" id="menu" aria-controls="contents" aria-expanded="false" aria-label="Contents"><span></span></button>
<a class="brand" href="#start">inboxd</a>
<button type="button" id="search"><span>Search</span><kbd>/</kbd></button>
<button type="button" id="theme" aria-label="Theme"></button></div>
<form id="key" aria-label="API key"><label for="api-key">API key</label>
<input id="api-key" type="password" autocomplete="off" spellcheck="false" placeholder="ibx_…"><span id="key-status" role="status"></span></form>
</header>`;
}

/** The list of everything. It has the sections of those guides that are `read`, and marks `current` as the one on show. */
function contents(
  reference: Reference,
  guides: readonly ListedGuide[],
  { linkTo }: Places,
  read: readonly ReadGuide[],
  current?: string,
): Html {
  const link = (id: string, text: string | Html) => html`<li><a href="#${id}">${text}</a></li>`;
  const headings = new Map(read.map((guide) => [guide.name, guide.headings]));
  const guideItem = ({ name, title }: ListedGuide) =>
    html`<li><a href="${linkTo(name)}"${name === current && html` aria-current="page"`}>${title}</a><ul class="within">${(
      headings.get(name) ?? []
    ).map(({ section, text }) => html`<li><a href="${linkTo(name, section)}">${text}</a></li>`)}</ul></li>`;
  return html`<ul>${link("start", "Overview")}</ul>${grouped(guides).map(
    ([group, within]) => html`<h2>${group}</h2><ul>${within.map(guideItem)}</ul>`,
  )}
${reference.groups.map(
  ({ name, operations }) =>
    html`<h2>${name}</h2><ul>${operations.map(({ operationId, method, summary }) =>
      link(operationId, html`${methodBadge(method)}<span>${summary ?? operationId}</span>`),
    )}</ul>`,
)}
${reference.events.length > 0 && html`<h2>Event payloads</h2><ul>${reference.events.map(({ name }) => link(`event-${name}`, name))}</ul>`}
<h2>Schemas</h2><ul>${reference.schemas.map(([name]) => link(`schema-${name}`, name))}</ul>`;
}

function start(version: string, guides: readonly ListedGuide[], { groups }: Reference): Html {
  return html`<section class="view" id="start" tabindex="-1">
<h2>inboxd <span class="type">${version}</span></h2>
<p class="lead">Real email addresses for users, workspaces and software agents: an HTTP JSON API, an SMTP listener, signed webhooks, streams, and tools for language models.</p>
<h3>Try it here</h3>
<ol class="steps">
<li>Enter the API key that the first start printed. It stays in this tab, where the samples of code have it too.</li>
<li><a href="#createInbox">Create an inbox</a>.</li>
<li><a href="#sendEmail">Send it an email</a>, from itself.</li>
<li><a href="#listMessages">List its messages</a>, then answer with <em>Reply</em>.</li>
</ol>
${grouped(guides).map(
  ([group, within]) => html`<h3>${group}</h3>
<ul class="cards">${within.map(({ name, title, about }) => html`<li><a href="#${name}"><strong>${title}</strong><span>${about}</span></a></li>`)}</ul>
`,
)}<h3>Operations</h3>
<ul class="cards">${groups.map(
    ({ name, operations }) =>
      html`<li><a href="#${groupId(name)}"><strong>${name}</strong><span>${operations.map(({ summary }) => summary).join(" · ")}</span></a></li>`,
  )}</ul>
<h3>For programs</h3>
<p><a href="openapi.json">openapi.json</a> describes every operation, <a href="llms.txt">llms.txt</a> lists the guides as Markdown, and <a href="llms-full.txt">llms-full.txt</a> has them all.
<a href="skill.md">skill.md</a> tells a language model how to work with mail from a shell; with <a href="#mcp">MCP</a> it has tools.</p>
</section>`;
}

function groupHtml({ name, description, operations }: Group): Html {
  return html`<section class="view group" id="${groupId(name)}" tabindex="-1"><h2>${name}</h2>
${description !== undefined && html`<p class="lead">${inline(description)}</p>`}${operations.map(operationHtml)}</section>\n`;
}

function groupId(name: string): string {
  return `tag-${name.toLowerCase().replaceAll(" ", "-")}`;
}

function searchDialog(): Html {
  return html`<dialog id="finder" aria-label="Search"><input id="finder-query" type="search" role="combobox" aria-expanded="true"
aria-controls="finder-results" aria-autocomplete="list" aria-label="Search guides, operations and fields" autocomplete="off" spellcheck="false"
placeholder="Search guides, operations and fields"><ul id="finder-results" role="listbox" aria-label="Results"></ul></dialog>`;
}
