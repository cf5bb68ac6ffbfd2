import { join } from "node:path";
import type { Resolve } from "../../src/mail/authenticate/questions.ts";

/**
 * The test suite of RFC 7208 as pyspf 2.0.14 ships it; its license is beside it. A scenario is a zone, and mails that come while the zone
 * is so. A test may allow several results.
 */
export interface SpfScenario {
  description: string;
  tests: Record<string, { host: string; helo: string; mailfrom: string | null; result: string | string[] }>;
  zonedata: Record<string, readonly (string | Record<string, unknown>)[]>;
}

const suite = await Bun.file(join(import.meta.dir, "spf-suite/rfc7208-tests.yml")).text();

export const spfScenarios: readonly SpfScenario[] = suite
  .split(/^---\s*$/m)
  .map((text) => Bun.YAML.parse(text) as Partial<SpfScenario> | null)
  .filter((scenario): scenario is SpfScenario => scenario?.tests !== undefined);

/** A name with `TIMEOUT` answers in time only for the types that it lists. The TXT records of old tests are those of the type SPF. */
export function scenarioDns(zonedata: SpfScenario["zonedata"]): Resolve {
  const zone = new Map(Object.entries(zonedata).map(([name, records]) => [name.toLowerCase(), records]));
  return async function resolve(name, type, signal) {
    const listed = zone.get(name.toLowerCase());
    if (listed === undefined) return { kind: "no_name" };
    const records = listed.filter((record) => typeof record !== "string");
    const alias = records.find(({ CNAME }) => CNAME !== undefined)?.CNAME;
    if (alias !== undefined && type !== "CNAME") return resolve(String(alias), type, signal);
    const isOld = type === "TXT" && !records.some((record) => "TXT" in record);
    const values = records.map((record) => record[isOld ? "SPF" : type]);
    const found = values.filter((value) => value !== undefined && value !== "NONE");
    if (found.includes("TIMEOUT")) return { kind: "unknown", reason: "no answer in time" };
    if (found.length > 0) return { kind: "found", records: found.map((value) => recordOf(type, value)) };
    return listed.includes("TIMEOUT") ? { kind: "unknown", reason: "no answer in time" } : { kind: "no_record" };
  };
}

function recordOf(type: string, value: unknown) {
  const parts = [value].flat();
  return type === "MX" ? { priority: Number(parts[0]), exchange: String(parts[1]) } : parts.join("");
}
