import { fieldsOf } from "./fields-html.ts";
import { guideHtml, inline } from "./guide-html.ts";
import { type GuidePage, guideTitle } from "./guide-pages.ts";
import { type Html, html } from "./html.ts";
import { eventHtml, methodBadge, operationHtml } from "./operation-html.ts";
import { type Document, type Group, type Reference, referenceOf } from "./reference.ts";

/**
 * The documentation as one page that is complete without a script: guides, operations, events and schemas. Each part is
 * a `.view` with its own address. The script shows one view at a time, searches, and makes the forms work. Links are
 * relative, so that the page also works behind a proxy with a path prefix.
 */
export function docsPage(document: Document, guides: Readonly<Record<string, GuidePage>>, version: string): string {
  const reference = referenceOf(document);
  const isHere = (name: string) => Object.hasOwn(guides, name);
  const read = Object.entries(guides).map(([name, guide]) => ({
    name,
    title: guideTitle(guide),
    about: guide.about,
    ...guideHtml(name, guide.text, isHere),
  }));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>inboxd documentation</title>
<link rel="icon" href="favicon.svg">
<link rel="stylesheet" href="docs/viewer.css">
<script type="module" src="docs/viewer.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${bar()}
<div class="columns">
<nav id="contents" aria-label="Contents">${contents(reference, read)}</nav>
<main id="content" tabindex="-1">
${start(version, read, reference)}
${read.map(({ name, body }) => html`<section class="view guide" id="${name}" tabindex="-1">${body}</section>\n`)}
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
)}</section>
</main>
</div>
${searchDialog()}
</body>
</html>
`.html;
}

interface ReadGuide extends ReturnType<typeof guideHtml> {
  name: string;
  title: string;
  about: string;
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

function contents(reference: Reference, guides: readonly ReadGuide[]): Html {
  const link = (id: string, text: string | Html) => html`<li><a href="#${id}">${text}</a></li>`;
  return html`<h2>Guides</h2><ul>${link("start", "Start here")}${guides.map(
    ({ name, title, headings }) =>
      html`<li><a href="#${name}">${title}</a><ul class="within">${headings.map(({ id, text }) => link(id, text))}</ul></li>`,
  )}</ul>
${reference.groups.map(
  ({ name, operations }) =>
    html`<h2>${name}</h2><ul>${operations.map(({ operationId, method, summary }) =>
      link(operationId, html`${methodBadge(method)}<span>${summary ?? operationId}</span>`),
    )}</ul>`,
)}
${reference.events.length > 0 && html`<h2>Event payloads</h2><ul>${reference.events.map(({ name }) => link(`event-${name}`, name))}</ul>`}
<h2>Schemas</h2><ul>${reference.schemas.map(([name]) => link(`schema-${name}`, name))}</ul>`;
}

function start(version: string, guides: readonly ReadGuide[], { groups }: Reference): Html {
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
<h3>Guides</h3>
<ul class="cards">${guides.map(({ name, title, about }) => html`<li><a href="#${name}"><strong>${title}</strong><span>${about}</span></a></li>`)}</ul>
<h3>Operations</h3>
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
