import type { Ask } from "../../dns/client.ts";
import { dkimRecord, zoneLine } from "../../domain/dns-zone.ts";
import type { DnsFacts } from "./dns-facts.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { lookUp, notAnswered } from "./look-up.ts";

/** Whether receivers find the public half of the key that we sign with (RFC 6376 §3.6). */
export async function checkDkim({ mailDomain, dkim, outbound }: DnsFacts, ask: Ask): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("dns dkim");
  if (dkim === undefined) {
    const seen = "mail goes out unsigned";
    if (outbound.kind === "sandbox") return [ok(`${seen}, and nowhere: sandbox mode`)];
    return [warn(seen, "Set DKIM_SELECTOR and DKIM_KEY, unless the relay signs for the mail domain")];
  }
  const wanted = dkimRecord(mailDomain, dkim.selector, dkim.record);
  const records = await lookUp(ask, wanted.name, "TXT");
  if ("noAnswer" in records) return [notAnswered("dns dkim", wanted.name, records.noAnswer)];
  const keys = records.map(keyIn);
  if (keys.includes(keyIn(dkim.record))) {
    if (records.length === 1) return [ok(`${wanted.name} has the key that DKIM_KEY signs with`)];
    // Which of several a receiver takes is not defined (RFC 6376 §3.6.2.2).
    return [warn(`${wanted.name} has ${records.length} records`, `Leave only: ${zoneLine(wanted)}`)];
  }
  if (records.length === 0) return [fail(`${wanted.name} has no record`, `Add: ${zoneLine(wanted)}`)];
  const seen = keys.includes("")
    ? `${wanted.name} says that its key is revoked`
    : `${wanted.name} has another key than DKIM_KEY: each signature is wrong`;
  return [fail(seen, `Put in its place: ${zoneLine(wanted)}`)];
}

/** The `p=` tag without white space, which zone files scatter in it; undefined where there is none. */
function keyIn(record: string): string | undefined {
  const tag = record.split(";").find((each) => /^\s*p\s*=/.test(each));
  return tag?.replace(/^\s*p\s*=/, "").replace(/\s/g, "");
}
