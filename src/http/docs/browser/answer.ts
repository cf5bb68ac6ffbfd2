import { element } from "./elements.ts";
import { highlight } from "./highlight.ts";

export interface Answered {
  status: number;
  statusText: string;
  headers: readonly (readonly [string, string])[];
  ms: number;
  /** As text, or how many bytes of what it is that are no text. */
  text: string;
  /** Of an answer that is JSON. */
  json: unknown;
}

const longestShown = 100_000;

export async function read(response: Response, ms: number): Promise<Answered> {
  const type = response.headers.get("content-type") ?? "";
  const bytes = await response.arrayBuffer();
  const isText = /^(?:text\/|message\/|application\/(?:problem\+)?json)/.test(type);
  const whole = isText ? new TextDecoder().decode(bytes) : "";
  const json = /\bjson\b/.test(type) ? parsed(whole) : undefined;
  const text = json === undefined ? whole : JSON.stringify(json, null, 2);
  const shown =
    text.length > longestShown ? `${text.slice(0, longestShown)}\n… ${text.length - longestShown} more` : text;
  return {
    ...{ status: response.status, statusText: response.statusText, headers: [...response.headers], ms, json },
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
    text === "" ? element("p", {}, "No body.") : element("pre", { tabindex: "0" }, code),
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
