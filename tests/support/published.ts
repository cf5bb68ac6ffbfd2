import type { Answer } from "dns-packet";
import type { ShownRecord } from "../../src/domain/domains/records.ts";

/** The records that a domain wants, as its owner publishes them. */
export function published(records: readonly Pick<ShownRecord, "type" | "name" | "value" | "priority">[]): Answer[] {
  return records.map(({ type, name, value, priority }): Answer => {
    if (type === "MX") return { name, type, ttl: 0, data: { preference: priority ?? 0, exchange: value } };
    if (type === "CNAME") return { name, type, ttl: 0, data: value };
    return { name, type, ttl: 0, data: inStrings(value, 255) };
  });
}

/** The name server of a zone. */
export function nameServerOf(name: string): Answer {
  return { name, type: "NS", ttl: 0, data: `ns.${name}` };
}

/** A text in the strings of a TXT record, each of at most `length` octets. */
export function inStrings(text: string, length: number): string[] {
  return text.match(new RegExp(`.{1,${length}}`, "g")) ?? [];
}
