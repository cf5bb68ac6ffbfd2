import type { Ask } from "../../dns/client.ts";
import { isKnownRelay, spfMechanism, spfRecord, zoneLine } from "../../domain/dns-zone.ts";
import { costsLookUp, isSpf, mostSpfLookUps, parseSpf, type SpfTerm } from "../../standards/spf.ts";
import { type DnsFacts, type LookedUp, lookUp, notAnswered } from "./dns-lookup.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Checks that the domain has a valid list of its senders (RFC 7208). */
export async function checkSpf({ mailDomain, outbound }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns spf");
  const records = await spfRecordsOf(mailDomain, ask);
  if ("noAnswer" in records) return [notAnswered("dns spf", mailDomain, records.noAnswer)];
  const wanted = zoneLine(spfRecord(mailDomain, outbound));
  const [record] = records;
  if (record === undefined) {
    // Only a warning in sandbox mode, where nothing is sent for the domain yet.
    const finding = outbound.kind === "sandbox" ? warn : fail;
    return [finding(`${mailDomain} has no SPF record, so much of its mail counts as forged`, `Add: ${wanted}`)];
  }
  if (records.length > 1) {
    return [
      fail(
        `${mailDomain} has ${records.length} SPF records, and receivers ignore several`,
        `Merge them into one: ${records.join(" | ")}`,
      ),
    ];
  }
  const terms = parseSpf(record);
  if (typeof terms === "string") {
    return [fail(`the SPF record of ${mailDomain} ${terms}, which no receiver can read`, `Replace it with: ${wanted}`)];
  }
  if (terms.some(({ qualifier, name }) => name === "all" && qualifier === "+")) {
    return [fail(`${record} allows everybody to send for ${mailDomain}`, `Replace it with: ${wanted}`)];
  }
  const lookUps = await countLookUps(terms, ask, 0);
  if (lookUps > mostSpfLookUps) {
    return [
      fail(
        `the SPF record of ${mailDomain} needs more than ${mostSpfLookUps} DNS queries, the limit of receivers`,
        "Remove includes that are not needed",
      ),
    ];
  }
  if (!isIncluded(terms, outbound)) {
    return [
      warn(
        `${record} does not include the servers that send our mail`,
        `Add "${spfMechanism(outbound)}" unless another term includes them`,
      ),
    ];
  }
  return [ok(`${mailDomain}: ${record}`)];
}

async function spfRecordsOf(name: string, ask: Ask): Promise<LookedUp<string>> {
  const records = await lookUp(ask, name, "TXT");
  return "noAnswer" in records ? records : records.filter(isSpf);
}

/** Counts DNS queries like a receiver, with those of included records. Stops above the limit, since a record may include itself. */
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

/** Whether the record permits the servers that send our mail. For a relay that we do not know, any term may permit them. */
function isIncluded(terms: readonly SpfTerm[], outbound: DnsFacts["outbound"]): boolean {
  if (outbound.kind === "smtp") {
    const wanted = spfMechanism(outbound);
    const isThere = terms.some(({ name, value }) => `${name}:${value}`.toLowerCase() === wanted);
    return isThere || !isKnownRelay(outbound) || terms.some(({ name }) => name === "redirect");
  }
  return outbound.kind === "sandbox" || terms.some(({ name }) => !["all", "exp"].includes(name));
}
