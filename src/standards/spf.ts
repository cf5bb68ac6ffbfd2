/** One term of an SPF record (RFC 7208 §4.6.1). */
export interface SpfTerm {
  qualifier: "+" | "-" | "~" | "?";
  /** The name of the mechanism or modifier, in lower case. */
  name: string;
  /** The value after `:`, `=` or `/`, or empty. */
  value: string;
}

/** True for an SPF record: its version is a whole word (RFC 7208 §4.5). */
export function isSpf(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

/** The terms of a record. If a term is invalid: a fault as the end of a sentence that begins with "the SPF record". */
export function parseSpf(record: string): SpfTerm[] | string {
  const terms: SpfTerm[] = [];
  for (const word of record.split(" ").slice(1)) {
    if (word === "") continue;
    const parts = /^([-+~?]?)([a-z][a-z0-9._-]*)(?:([:=/])(.*))?$/i.exec(word);
    const [, qualifier = "", name = "", mark, value = ""] = parts ?? [];
    const isModifier = mark === "=" && qualifier === "";
    const lower = name.toLowerCase();
    if (!parts || (!isModifier && !mechanisms.has(lower)) || (mark === "=" && !isModifier)) return `has "${word}"`;
    terms.push({ qualifier: (qualifier || "+") as SpfTerm["qualifier"], name: lower, value });
  }
  return terms;
}

/** True for a term that costs one of the ten look-ups that a receiver allows (RFC 7208 §4.6.4). */
export function costsLookUp({ name }: SpfTerm): boolean {
  return lookUps.has(name);
}

export const mostSpfLookUps = 10;

const mechanisms = new Set(["all", "include", "a", "mx", "ptr", "ip4", "ip6", "exists"]);
const lookUps = new Set(["include", "a", "mx", "ptr", "exists", "redirect"]);
