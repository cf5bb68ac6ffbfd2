import { html } from "./html.ts";
import type { Parameter, ReferenceOperation } from "./reference.ts";
import { type TryBody, tryBodies, tryQuery, tryType } from "./try-bodies.ts";

/**
 * A form that sends a request of the operation, and a code sample of that request. The page's script (browser/try.ts)
 * makes both work.
 */
export function tryForm(operation: ReferenceOperation) {
  const { operationId, method, path, parameters = [] } = operation;
  const of = (place: string) => parameters.filter((parameter) => parameter.in === place);
  const headers = Object.groupBy(of("header"), ({ required }) => (required ? "needed" : "others"));
  const query = Object.groupBy(of("query"), ({ required }) => (required ? "needed" : "others"));
  const bodies = tryBodies(operation);
  return html`<form class="try" data-operation="${operationId}" data-method="${method}" data-path="${path}" data-type="${tryType(operation)}"${asksForKey(operation) && html` data-needs-key`}${isEndless(operation) && html` data-endless`} aria-label="Try: ${operation.summary}">
<div class="inputs">
${of("path").map((parameter) => textInput(operationId, parameter, wantedFor(path, parameter.name)))}
${(headers.needed ?? []).map((parameter) => textInput(operationId, parameter))}
${(query.needed ?? []).map((parameter) => queryInput(operationId, parameter))}
${bodies.length > 0 && bodyInput(operationId, bodies)}
${query.others && html`<details><summary>Query</summary>${query.others.map((parameter) => queryInput(operationId, parameter))}</details>`}
${headers.others && html`<details><summary>Headers</summary>${headers.others.map((parameter) => textInput(operationId, parameter))}</details>`}
</div>
<div class="sample">
<div class="tabs" role="group" aria-label="Language of the code">${languages.map(
    ([language, label]) =>
      html`<button type="button" data-language="${language}" aria-pressed="false">${label}</button>`,
  )}</div>
<pre tabindex="0"><code></code></pre>
</div>
<div class="send"><button type="submit">Send request</button><span class="send-status" role="status"></span></div>
<output class="answer" hidden></output>
</form>`;
}

/**
 * Whether the form sends the API key. Open operations under /v1/ also accept a signed URL, but the form uses the key.
 */
export function asksForKey({ path, needsKey }: ReferenceOperation): boolean {
  return needsKey || path.startsWith("/v1/");
}

/** Whether the answer is a stream without an end. */
function isEndless({ responses = {} }: ReferenceOperation): boolean {
  return Object.values(responses).some(({ content = {} }) => "text/event-stream" in content);
}

const languages = [
  ["curl", "curl"],
  ["typescript", "TypeScript"],
  ["python", "Python"],
] as const;

function bodyInput(operationId: string, bodies: readonly TryBody[]) {
  const id = `${operationId}-body`;
  const texts = bodies.map(({ text }) => text);
  return html`<div class="input"><div class="row"><label for="${id}">Body</label>${
    bodies.length > 1 &&
    html`<select aria-label="Example of the body">${bodies.map(
      ({ label }, index) => html`<option value="${texts[index]}">${label}</option>`,
    )}</select>`
  }</div>
<textarea id="${id}" name="body" spellcheck="false" rows="${Math.min(12, (texts[0] ?? "").split("\n").length)}" data-template="${texts[0]}">${texts[0]}</textarea>
<p class="fault" hidden></p></div>`;
}

function textInput(operationId: string, { name, in: place, description, required }: Parameter, wanted?: string) {
  const id = `${operationId}-${name}`;
  return html`<div class="input"><label for="${id}">${name}</label>
<input id="${id}" name="${place}:${name}" autocomplete="off" spellcheck="false"${required && html` required`}${
    wanted !== undefined && html` data-wanted="${wanted}"`
  }${name === "Idempotency-Key" && required && html` data-wanted="key"`} title="${description ?? name}"></div>`;
}

function queryInput(operationId: string, parameter: Parameter) {
  const { name, schema = {}, description } = parameter;
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  const kind = typeof schema.type === "string" ? schema.type : "string";
  const id = `${operationId}-${name}`;
  if (values === undefined) {
    const placeholder = schema.default === undefined ? "" : String(schema.default);
    return html`<div class="input"><label for="${id}">${name}</label>
<input id="${id}" name="query:${name}" data-kind="${kind}" autocomplete="off" spellcheck="false"${
      parameter.required === true && html` required value="${tryQuery(parameter)}"`
    } placeholder="${placeholder}" title="${description ?? name}"></div>`;
  }
  return html`<div class="input"><label for="${id}">${name}</label>
<select id="${id}" name="query:${name}" data-kind="${kind}" title="${description ?? name}"><option value=""></option>${values.map(
    (value) => html`<option>${String(value)}</option>`,
  )}</select></div>`;
}

/**
 * The kind of value that the page fills into a path parameter, found by the path before it: `/v1/threads/{id}` wants a
 * `thread`. Undefined if the page cannot fill it in.
 */
function wantedFor(path: string, name: string): string | undefined {
  const [before = ""] = path.split(`/{${name}}`);
  if (path.startsWith("/v1/messages/{id}/attachments/") && name === "id") return "attachmentMessage";
  const kinds: Record<string, string> = {
    "/v1/inboxes": "inbox",
    "/v1/messages": "message",
    "/v1/threads": "thread",
    "/v1/events": "event",
    "/v1/attachments": "attachmentMessage",
    "/v1/attachments/{message_id}": "attachmentName",
    "/v1/messages/{id}/attachments": "attachmentName",
  };
  return kinds[before];
}
