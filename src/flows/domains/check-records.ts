import type { RecordType, RecordValues } from "../../dns/records.ts";
import type { ServerAnswer, ZoneQuestions } from "../../dns/zones.ts";
import { withParents } from "../../domain/domains/domain-name.ts";
import {
  combined,
  judgeDkim,
  judgeDmarc,
  judgeMx,
  judgeReturnPath,
  type MxRecord,
  type ReturnPathSaid,
  type Said,
  type Verdict,
  withDoubledName,
} from "../../domain/domains/judge-records.ts";
import {
  type DomainNames,
  type PublishedKey,
  type ServiceNames,
  selectorName,
  type WantedRecord,
  wantedRecords,
} from "../../domain/domains/records.ts";
import type { SeenRecord } from "../../domain/domains/seen-record.ts";

/** The answers of the name servers about the records of a domain. */
export interface CheckedRecords {
  /** Undefined if the zone was not found. */
  zone: string | undefined;
  records: SeenRecord[];
}

export interface CheckedDomain extends DomainNames {
  keys: readonly PublishedKey[];
}

/** Looks up all records of a domain. The DKIM records come first, in case the questions run out. */
export async function checkRecords(
  questions: ZoneQuestions,
  domain: CheckedDomain,
  names: ServiceNames,
  randomSelector: string,
): Promise<CheckedRecords> {
  const zone = await questions.zoneOf(domain.name);
  const atRandom = wildcardAt(questions, domain.name, randomSelector);

  const judges: { [Purpose in SeenRecord["purpose"]]: (name: string, wanted: WantedRecord) => Promise<Verdict> } = {
    async dkim(name, { value }) {
      const said = await saidOf(questions, name, "TXT", domain.name);
      const wildcard = await atRandom;
      return combined(said.map((each) => judgeDkim(publicKeyOf(value), each, wildcard)));
    },
    async mx(name, { value }) {
      const said = await saidOf(questions, name, "MX", domain.name);
      const aliases = await aliasesTo(questions, value, said);
      return combined(said.map((each) => judgeMx(each, value, aliases)));
    },
    async return_path(name, { value }) {
      const said = await returnPathsSaid(questions, name, domain.name, value);
      return combined(said.map((each) => judgeReturnPath(each, value)));
    },
    dmarc: (name) => judgeTree(questions, name),
  };

  const records = wantedRecords(domain, domain.keys, names).map(async (wanted): Promise<SeenRecord> => {
    const { purpose, name } = wanted;
    const verdict = await judges[purpose](name, wanted);
    const isDoubled =
      verdict.status === "missing" && zone !== undefined && purpose !== "dmarc"
        ? (await judges[purpose](`${name}.${zone}`, wanted)).status === "valid"
        : false;
    return { purpose, name, ...withDoubledName(verdict, isDoubled) };
  });
  return { zone, records: await Promise.all(records) };
}

/** Looks up the DKIM records of a domain alone, which prove it. */
export async function checkProof(
  questions: ZoneQuestions,
  { name: domain, keys }: Pick<CheckedDomain, "name" | "keys">,
  randomSelector: string,
): Promise<Verdict[]> {
  const atRandom = wildcardAt(questions, domain, randomSelector);
  return Promise.all(
    keys.map(async ({ selector, publicKey }) => {
      const said = await saidOf(questions, selectorName(selector, domain), "TXT", domain);
      const wildcard = await atRandom;
      return combined(said.map((each) => judgeDkim(publicKey, each, wildcard)));
    }),
  );
}

function publicKeyOf(record: string): string {
  return record.slice(record.indexOf("p=") + 2);
}

async function wildcardAt(questions: ZoneQuestions, domain: string, selector: string) {
  const answers = await questions.ask(selectorName(selector, domain), "TXT", domain);
  if (answers.some(({ kind, isAlias }) => kind === "found" || isAlias)) return "exists";
  return answers.some(({ kind }) => kind !== "unknown") ? "nothing" : "unknown";
}

async function saidOf<Type extends RecordType>(
  questions: ZoneQuestions,
  name: string,
  type: Type,
  domain: string,
): Promise<Said<RecordValues[Type]>[]> {
  return (await questions.ask(name, type, domain)).map(said);
}

function said<Type extends RecordType>(answer: ServerAnswer<Type>): Said<RecordValues[Type]> {
  if (answer.kind === "found") return { kind: "found", values: answer.records };
  return { kind: answer.kind === "unknown" ? "unknown" : "nothing" };
}

/** The hosts of these MX records that are aliases of our host. */
async function aliasesTo(questions: ZoneQuestions, host: string, answers: readonly Said<MxRecord>[]) {
  const exchanges = answers
    .flatMap((answer) => (answer.kind === "found" ? answer.values : []))
    .map(({ exchange }) => exchange);
  const others = [...new Set(exchanges)].filter((exchange) => exchange !== host && exchange !== "");
  const targets = await Promise.all(
    others
      .slice(0, mostMxHosts)
      .map(async (exchange) => ({ exchange, chain: await chainFrom(questions, exchange, host) })),
  );
  return new Set(targets.filter(({ chain }) => chain.includes(host)).map(({ exchange }) => exchange));
}

const mostMxHosts = 2;

/** The names to which an alias leads, in order, up to `end`. */
async function chainFrom(questions: ZoneQuestions, name: string, end: string): Promise<string[]> {
  const chain: string[] = [];
  for (let at = name; at !== end && chain.length < mostAliases; ) {
    const [target] = (await saidOf(questions, at, "CNAME", at)).flatMap((each) =>
      each.kind === "found" ? each.values : [],
    );
    if (target === undefined) break;
    chain.push(target);
    at = target;
  }
  return chain;
}

/** The longest chain of aliases that counts. */
const mostAliases = 8;

async function returnPathsSaid(
  questions: ZoneQuestions,
  name: string,
  domain: string,
  end: string,
): Promise<ReturnPathSaid[]> {
  const answers = await saidOf(questions, name, "CNAME", domain);
  return Promise.all(
    answers.map(async (answer): Promise<ReturnPathSaid> => {
      if (answer.kind === "unknown") return { kind: "unknown" };
      if (answer.kind === "nothing") return addressesAt(questions, name, domain);
      const [target = ""] = answer.values;
      return { kind: "found", targets: [target, ...(await chainFrom(questions, target, end))] };
    }),
  );
}

async function addressesAt(questions: ZoneQuestions, name: string, domain: string): Promise<ReturnPathSaid> {
  const answers = await saidOf(questions, name, "A", domain);
  const addresses = answers.flatMap((answer) => (answer.kind === "found" ? answer.values : []));
  return addresses.length > 0 ? { kind: "addresses", addresses } : { kind: "nothing" };
}

/** Judges the DMARC record of the domain, or of the nearest one above that has one. A tree walk asks eight names (RFC 9989). */
async function judgeTree(questions: ZoneQuestions, name: string): Promise<Verdict> {
  const [domain = "", ...above] = withParents(name.slice("_dmarc.".length));
  let verdict: Verdict | undefined;
  for (const parent of [domain, ...above.slice(-mostParents)]) {
    const answers = await saidOf(questions, `_dmarc.${parent}`, "TXT", parent);
    verdict = combined(answers.map(judgeDmarc));
    if (verdict.status !== "missing") break;
  }
  return verdict ?? combined([]);
}

const mostParents = 7;
