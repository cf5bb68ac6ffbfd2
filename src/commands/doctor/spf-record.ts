import type { Ask } from "../../dns/client.ts";
import { isKnownRelay, spfMechanism, spfRecord, zoneLine } from "../../domain/dns-zone.ts";
import { costsLookUp, isSpf, mostSpfLookUps, parseSpf, type SpfTerm } from "../../standards/spf.ts";
import type { DnsFacts } from "./dns-facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { type LookedUp, lookUp, notAnswered } from "./look-up.ts";

/** Whether the domain says who may send for it, in a way that receivers can follow (RFC 7208). */
export async function checkSpf({ mailDomain, outbound }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns spf");
  const records = await spfRecordsOf(mailDomain, ask);
  if ("noAnswer" in records) return [notAnswered("dns spf", mailDomain, records.noAnswer)];
  const wanted = zoneLine(spfRecord(mailDomain, outbound));
  const [record] = records;
  if (record === undefined) {
    // Without a way out nobody sends for the domain yet.
    const finding = outbound.kind === "sandbox" ? warn : fail;
    return [finding(`${mailDomain} has no SPF record: much of its mail will count as forged`, `Add: ${wanted}`)];
  }
  if (records.length > 1) {
    return [
      fail(
        `${mailDomain} has ${records.length} SPF records, and more than one is none`,
        `Make them one: ${records.join(" | ")}`,
      ),
    ];
  }
  const terms = parseSpf(record);
  if (typeof terms === "string") {
    return [
      fail(`the SPF record of ${mailDomain} ${terms}, which no receiver can read`, `Put in its place: ${wanted}`),
    ];
  }
  if (terms.some(({ qualifier, name }) => name === "all" && qualifier === "+")) {
    return [fail(`${record} lets everybody send for ${mailDomain}`, `Put in its place: ${wanted}`)];
  }
  const lookUps = await countLookUps(terms, ask, 0);
  if (lookUps > mostSpfLookUps) {
    return [
      fail(
        `the SPF record of ${mailDomain} needs more than ${mostSpfLookUps} look-ups, and receivers stop there`,
        "Take out includes that are not needed",
      ),
    ];
  }
  if (!isNamed(terms, outbound)) {
    return [
      warn(
        `${record} doesn't name the way that mail goes out here`,
        `Add "${spfMechanism(outbound)}" unless another term covers it`,
      ),
    ];
  }
  return [ok(`${mailDomain}: ${record}`)];
}

async function spfRecordsOf(name: string, ask: Ask): Promise<LookedUp<string>> {
  const records = await lookUp(ask, name, "TXT");
  return "noAnswer" in records ? records : records.filter(isSpf);
}

/** As a receiver counts, with what is included; it stops once there are too many, and a record may include itself. */
async function countLookUps(terms: readonly SpfTerm[], ask: Ask, before: number): Promise<number> {
  let count = before;
  for (const term of terms) {
    if (!costsLookUp(term)) continue;
    count += 1;
    if (count > mostSpfLookUps) return count;
    const isFollowed = (term.name === "include" || term.name === "redirect") && !term.value.includes("%");
    const records = isFollowed ? await spfRecordsOf(term.value, ask) : [];
    const [record] = "noAnswer" in records ? [] : records;
    const included = record === undefined ? [] : parseSpf(record);
    if (typeof included !== "string") count = await countLookUps(included, ask, count);
  }
  return count;
}

/** Of a relay that we don't know, any term may be the right one. */
function isNamed(terms: readonly SpfTerm[], outbound: DnsFacts["outbound"]): boolean {
  if (outbound.kind === "smtp") {
    const wanted = spfMechanism(outbound);
    const isThere = terms.some(({ name, value }) => `${name}:${value}`.toLowerCase() === wanted);
    return isThere || !isKnownRelay(outbound) || terms.some(({ name }) => name === "redirect");
  }
  return outbound.kind === "sandbox" || terms.some(({ name }) => !["all", "exp"].includes(name));
}
