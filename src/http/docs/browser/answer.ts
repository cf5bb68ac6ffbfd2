import { copyButton } from "./copy.ts";
import { element } from "./elements.ts";
import { highlight } from "./highlight.ts";

export interface Answered {
  status: number;
  statusText: string;
  headers: readonly (readonly [string, string])[];
  ms: number;
  /** The body as text, or its size and type if it is not text. */
  text: string;
  /** The body's value, if it is JSON. */
  json: unknown;
}

const longestShown = 100_000;
/** How long the page reads a stream. */
const listenedMs = 2000;

export async function read(response: Response, ms: number): Promise<Answered> {
  const type = response.headers.get("content-type") ?? "";
  const isEndless = type.startsWith("text/event-stream");
  const bytes = await (isEndless ? beginning(response) : response.arrayBuffer());
  const isText = /^(?:text\/|message\/|application\/(?:problem\+)?json)/.test(type);
  const whole = isText ? new TextDecoder().decode(bytes) : "";
  const json = /\bjson\b/.test(type) ? parsed(whole) : undefined;
  const said = json === undefined ? whole : JSON.stringify(json, null, 2);
  const text = isEndless
    ? `${said}… The stream continues, but this page reads only ${listenedMs / 1000} s of it.`
    : said;
  const shown =
    text.length > longestShown ? `${text.slice(0, longestShown)}\n… ${text.length - longestShown} more` : text;
  return {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers],
    ms,
    json,
    text: isText || bytes.byteLength === 0 ? shown : `${bytes.byteLength.toLocaleString()} bytes of ${type}`,
  };
}

export function show(output: HTMLElement, { status, statusText, headers, ms, text }: Answered): void {
  const code = element("code", {}, text);
  highlight(code);
  output.replaceChildren(
    element(
      "p",
      { class: "result" },
      element("span", { class: "status", "data-hundred": String(Math.floor(status / 100)) }, `${status} ${statusText}`),
      ` in ${Math.round(ms)} ms`,
    ),
    text === ""
      ? element("p", {}, "No body.")
      : element("div", { class: "block" }, element("pre", { tabindex: "0" }, code), copyButton(code)),
    element(
      "details",
      {},
      element("summary", {}, "Headers"),
      element("pre", { tabindex: "0" }, headers.map(([name, value]) => `${name}: ${value}`).join("\n")),
    ),
  );
  output.hidden = false;
  output.scrollIntoView({ block: "nearest" });
}

async function beginning({ body }: Response): Promise<ArrayBuffer> {
  const reader = body?.getReader();
  const pieces: BlobPart[] = [];
  const timer = setTimeout(() => void reader?.cancel(), listenedMs);
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) pieces.push(read.value);
  clearTimeout(timer);
  return new Blob(pieces).arrayBuffer();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
