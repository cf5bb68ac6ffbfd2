import { fieldItem, fieldsOf } from "./fields-html.ts";
import { inline } from "./guide-html.ts";
import { type Html, html } from "./html.ts";
import {
  type Answer,
  type Content,
  type EventShape,
  exampleIn,
  firstContent,
  type Parameter,
  type ReferenceOperation,
} from "./reference.ts";
import { asksForKey, tryForm } from "./try-form.ts";

export function operationHtml(operation: ReferenceOperation): Html {
  const { operationId, method, path, summary, description, parameters = [], requestBody } = operation;
  const answers = Object.entries(operation.responses ?? {});
  const body = firstContent(requestBody?.content)?.[1].schema;
  return html`<article class="operation" id="${operationId}" tabindex="-1">
<div class="about">
<h3><a href="#${operationId}">${summary ?? operationId}</a></h3>
<p class="route">${methodBadge(method)} <code>${path}</code></p>
<p>${inline(description)}</p>
${!asksForKey(operation) && html`<p class="note">Needs no API key.</p>`}
</div>
${tryForm(operation)}
<div class="details">
${places.map(([place, title]) =>
  parameterList(
    title,
    parameters.filter((parameter) => parameter.in === place),
  ),
)}
${body && html`<h4>Body</h4>${fieldsOf(body)}`}
<h4>Answers</h4>
${answers.filter(([status]) => status < "4").map(([status, answer]) => goodAnswer(status, answer))}
${refusals(answers.filter(([status]) => status >= "4"))}
</div>
</article>`;
}

const places = [
  ["path", "Path"],
  ["query", "Query"],
  ["header", "Headers"],
] as const;

export function methodBadge(method: string): Html {
  return html`<span class="method" data-verb="${method}">${method}</span>`;
}

export function eventHtml({ name, summary, description, content }: EventShape): Html {
  return html`<article class="event" id="event-${name}" tabindex="-1">
<h3><a href="#event-${name}"><code>${name}</code></a></h3>
<p>${inline(description ?? summary)}</p>
${content && html`<div class="pair"><div>${fieldsOf(content.schema)}</div>${exampleBlock(content)}</div>`}
</article>`;
}

function parameterList(title: string, parameters: readonly Parameter[]): Html | undefined {
  if (parameters.length === 0) return undefined;
  return html`<h4>${title}</h4><ul class="fields">${parameters.map(
    ({ name, schema = {}, description, required = false }) =>
      fieldItem(name, { ...schema, ...(description !== undefined && { description }) }, required),
  )}</ul>`;
}

function goodAnswer(status: string, { description, content }: Answer): Html {
  const title = html`<span class="status">${status}</span> ${inline(description)}`;
  const [type, shown] = firstContent(content) ?? [];
  if (shown === undefined) return html`<p class="answered">${title}</p>`;
  return html`<details><summary>${title}</summary>${
    type === "application/json"
      ? html`${fieldsOf(shown.schema)}${schemaLink(shown)}${exampleBlock(shown)}`
      : html`<p><code>${type}</code></p>`
  }</details>`;
}

/** A link to the schema of an answer, which lists its fields. Undefined if that schema has no name. */
function schemaLink({ schema }: Content): Html | undefined {
  const name = schema?.$ref?.split("/").at(-1);
  return name === undefined ? undefined : html`<p>Its fields: <a href="#schema-${name}">${name}</a></p>`;
}

export function exampleBlock(content: Content): Html | undefined {
  const example = exampleIn(content);
  if (example === undefined) return undefined;
  return html`<pre tabindex="0"><code class="language-json">${JSON.stringify(example, null, 2)}</code></pre>`;
}

function refusals(answers: readonly (readonly [string, Answer])[]): Html | undefined {
  if (answers.length === 0) return undefined;
  return html`<details><summary>Refusals <span class="type">${answers.map(([status]) => status).join(" · ")}</span></summary>
<dl class="refusals">${answers.map(([status, { description = "" }]) => html`<dt class="status">${status}</dt><dd>${description.split("; ").map((code) => html`<p>${inline(code)}</p>`)}</dd>`)}</dl>
<p>Each is a problem with a stable <code>code</code>: <a href="#errors">Errors and limits</a>.</p></details>`;
}
