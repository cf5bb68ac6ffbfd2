import { type Draft, isJson } from "./draft.ts";
import type { Known } from "./known.ts";

type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Fills a form of the page, checks it, and makes its request (`draft`). */
export function requestForm(form: HTMLFormElement, base: URL) {
  const { method = "GET", path = "", type = "", operation = "", needsKey } = form.dataset;
  const faultOf = (text: string) => (isJson(type) ? jsonFault(text) : undefined);
  const body = form.querySelector<HTMLTextAreaElement>("textarea");
  const inputs = Array.from(form.querySelectorAll<Input>("[name]")).filter((input) => input !== body);
  const own = new Set<Element>();
  form.addEventListener("input", ({ target }) => own.add(target as Element));

  return {
    /** The names of the values of the account that the form still lacks. */
    wants(): string[] {
      const ofInputs = inputs.map(({ dataset, value }) => (value === "" ? dataset.wanted : undefined));
      const ofBody = Array.from(body?.value.matchAll(/\{(\w+)\}/g) ?? [], ([, name]) => name);
      return [...ofInputs, ...ofBody].filter((name) => name !== undefined);
    },
    /** Fills in the known values, and `fresh` for `{fresh}`. Never replaces typed text. */
    fill(known: Known, fresh: string): void {
      const meant = (name: string) => (name === "fresh" ? fresh : name === "key" ? `try-${fresh}` : known.meant(name));
      for (const input of inputs) {
        if (input.dataset.wanted !== undefined && !own.has(input)) input.value = meant(input.dataset.wanted) ?? "";
      }
      if (body === null || own.has(body)) return;
      body.value = (body.dataset.template ?? "").replaceAll(/\{(\w+)\}/g, (whole, name) => {
        const value = meant(name);
        return value === undefined ? whole : JSON.stringify(value).slice(1, -1);
      });
    },
    /** Chooses another example body. The next `fill` shows it, also in place of typed text. */
    choose(template: string): void {
      if (body === null) return;
      body.dataset.template = template;
      own.delete(body);
    },
    /** Why the form cannot be sent; undefined if it can. */
    fault(): string | undefined {
      const empty = inputs.find(({ required, value }) => required && value === "");
      if (empty) return `${empty.name.split(":")[1]} is missing`;
      const wrong = faultOf(body?.value ?? "");
      return wrong === undefined ? undefined : `The body is not JSON: ${wrong}`;
    },
    bodyFault: () => faultOf(body?.value ?? ""),
    draft(): Draft {
      const given = inputs.map(({ name: named, value, dataset }) => {
        const [place, name = ""] = named.split(":");
        return { place, name, value: value.trim(), kind: dataset.kind ?? "string" };
      });
      const of = (place: string) => given.filter((one) => one.place === place && one.value !== "");
      const filled = of("path").reduce(
        (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
        path,
      );
      const query = new URLSearchParams(of("query").map(({ name, value }) => [name, value])).toString();
      const text = body?.value.trim() || undefined;
      return {
        operationId: operation,
        method,
        base: base.href.replace(/\/$/, ""),
        path,
        pathValues: Object.fromEntries(
          given.filter(({ place }) => place === "path").map(({ name, value }) => [name, value]),
        ),
        query: of("query"),
        url: `${base.href}${filled.slice(1)}${query && `?${query}`}`,
        needsKey: needsKey !== undefined,
        isEndless: "endless" in form.dataset,
        headers: [
          ...(text === undefined ? [] : [["Content-Type", type] as const]),
          ...of("header").map(({ name, value }) => [name, value] as const),
        ],
        body: text,
      };
    },
    isDangerous: method === "DELETE" || path.endsWith("/rotate-secret"),
  };
}

function jsonFault(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
