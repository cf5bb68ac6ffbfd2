import { clientSample } from "./client-sample.ts";
import { type Draft, isJson } from "./draft.ts";

function hasJson({ headers }: Draft): boolean {
  return headers.some(([name, value]) => name === "Content-Type" && isJson(value));
}

export type Language = "curl" | "typescript" | "python";

/** Code that sends the request. It gets the key from the environment. */
export function sampleOf(language: Language, draft: Draft): string {
  return { curl, typescript: clientSample, python }[language](draft);
}

/** The places of a key in code and in the guides. */
const keyPlaces =
  /\$INBOXD_API_KEY\b|ibx_…|process\.env\.INBOXD_API_KEY\b(?: \?\? "")?|os\.environ\["INBOXD_API_KEY"\]/g;

/**
 * Puts the key into a sample. A key that would need quoting somewhere, which only an operator can choose, leaves it as
 * it is.
 */
export function withKey(sample: string, key: string): string {
  if (!/^[\w.~+/=-]+$/.test(key)) return sample;
  return sample.replaceAll(keyPlaces, (place) => (/^[$i]/.test(place) ? key : JSON.stringify(key)));
}

function curl({ method, url, needsKey, isEndless = false, headers, body }: Draft): string {
  const isImplied = method === "GET" || (method === "POST" && body !== undefined);
  return [
    `curl -s${isEndless ? "N" : ""} ${isImplied ? "" : `-X ${method} `}${shellQuoted(url)}`,
    ...(needsKey ? ['-H "Authorization: Bearer $INBOXD_API_KEY"'] : []),
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(body)}`]),
  ].join(" \\\n  ");
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function python(draft: Draft): string {
  const { method, url, needsKey, isEndless = false, headers, body } = draft;
  const data =
    body === undefined ? undefined : hasJson(draft) ? `json.dumps(${pythonText(body)})` : JSON.stringify(body);
  const fields = [
    ...(needsKey ? [`        "Authorization": "Bearer " + os.environ["INBOXD_API_KEY"],`] : []),
    ...headers.map(([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`),
  ];
  return [
    ...(data?.startsWith("json.") ? ["import json"] : []),
    ...(needsKey ? ["import os"] : []),
    "import urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    `    method=${JSON.stringify(method)},`,
    ...(fields.length === 0 ? [] : ["    headers={", ...fields, "    },"]),
    ...(data === undefined ? [] : [`    data=${data}.encode(),`]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    ...(isEndless
      ? ["    for line in response:", '        print(line.decode(), end="", flush=True)']
      : ["    print(response.status, response.read().decode())"]),
  ].join("\n");
}

function pythonText(body: string): string {
  try {
    return pythonValue(JSON.parse(body), "    ");
  } catch {
    return body;
  }
}

function pythonValue(value: unknown, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  const [open, close, entries] = Array.isArray(value)
    ? ["[", "]", value.map((entry) => pythonValue(entry, deeper))]
    : ["{", "}", Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonValue(one, deeper)}`)];
  if (entries.length === 0) return `${open}${close}`;
  return `${open}\n${entries.map((entry) => `${deeper}${entry},\n`).join("")}${indent}${close}`;
}
