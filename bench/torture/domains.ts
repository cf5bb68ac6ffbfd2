import type { Answer as DnsRecord, RecordType } from "dns-packet";
import * as packet from "dns-packet";
import type { Chance } from "../../tests/support/chance.ts";
import { type DnsQuestion, type ScriptedDns, scriptedDns, zone } from "../../tests/support/scripted-dns.ts";
import { deliver, newMail } from "./deliver.ts";
import { graceMs, laterMs } from "./early-work.ts";
import { type DomainSend, type LedgerAccount, type LedgerDomain, type LedgerInbox, newSend } from "./ledger.ts";
import { plainMail } from "./passing.ts";
import { type Answer, ask, type Driver, eventually, untilHeard, type World } from "./world.ts";

/** The name server of all own domains and of the senders; now and then it fails, is late, does not answer, or is overtaken by a liar. */
export interface TortureZone extends Pick<ScriptedDns, "port" | "close"> {
  records: Set<DnsRecord>;
  /** Whether it answers nobody. */
  isDead: boolean;
}

export async function startZone(chance: Chance): Promise<TortureZone> {
  const records = new Set<DnsRecord>(ofSenders);
  const state = { records, isDead: false };
  const { port, close } = await scriptedDns(async (question) => {
    if (state.isDead) return "silence";
    if (chance.is(0.03)) return { code: serverFailure };
    if (chance.is(0.02)) return "silence";
    if (chance.is(0.02)) await Bun.sleep(chance.whole(100, 4_000));
    const answer = await zone([...records])(question);
    return chance.is(0.1) ? [lieAbout(question), ...[answer].flat()] : answer;
  });
  return Object.assign(state, { port, close });
}

const txt = (name: string, data: string): DnsRecord => ({ name, type: "TXT", ttl: 5, data });

/** The records of the domains of foreign senders: one domain sends from here, and the other one, which is forged, sends nothing. */
const ofSenders: readonly DnsRecord[] = [
  txt("mta.example", "v=spf1 ip4:127.0.0.1 -all"),
  txt("bank.example", "v=spf1 -all"),
  txt("_dmarc.bank.example", "v=DMARC1; p=reject"),
];

/** The answer of an attacker who has guessed the id of the question wrongly. */
function lieAbout({ name, type, id }: DnsQuestion): Uint8Array {
  return packet.encode({
    type: "response",
    id: (id + 1) & 0xff_ff,
    questions: [{ name, type: type as RecordType }],
    answers: [txt(name, "v=spf1 +all")],
  });
}

const serverFailure = 2;

/** The account that has the domain, and the one that gets it. */
type Holders = readonly [before: LedgerAccount, after: LedgerAccount];

export interface Moving {
  dns: TortureZone;
  holders: Holders;
  name: string;
  /** Whether a domain whose proof is gone is checked early enough to be seen failing. */
  mayFail: boolean;
}

/**
 * Makes domains, and proves each for one account, while mail comes for it and leaves from it. Then its proof is gone, and the domain is
 * proven for another account, some after they have failed, or for the first one again.
 */
export function domainMover(world: World, chance: Chance, { dns, holders, name, mayFail }: Moving): Driver {
  const { ledger } = world;
  let number = 0;

  return async function moveOne() {
    number += 1;
    const unknown = Number.POSITIVE_INFINITY;
    const domain: LedgerDomain = {
      name: `${name}${number}.example.com`,
      mails: [],
      before: undefined,
      after: undefined,
      heldMs: unknown,
      leavingMs: unknown,
      goneMs: unknown,
      renewedMs: unknown,
      backMs: unknown,
      heldAgainMs: unknown,
      sends: [],
    };
    const both: Holders = chance.is(0.5) ? holders : [holders[1], holders[0]];
    const [before] = both;
    const first = await proven(domain, before);
    domain.before = first && (await inboxAt(domain, before));
    if (first === undefined || domain.before === undefined) return;
    ledger.domains.push(domain);
    await untilHeard(world, before);
    domain.heldMs = Date.now();
    const isOver = { now: false };
    const mailing = [
      ...[1, 2].map((sender) => mailFor(domain, sender, isOver)),
      mailFrom(domain, domain.before, isOver),
    ];
    await Bun.sleep(chance.whole(500, 2000));
    // The earliest end of its time of grace.
    domain.leavingMs = Date.now() + graceMs;
    first.withdraw();
    const isFailing = mayFail && chance.is(0.7) && (await failing(domain, first.id, before));
    const hasFailed = isFailing && chance.is(0.6) && (await fails(domain, first.id, before));
    if (hasFailed && chance.is(0.6)) await comeBack(domain, first, before);
    else await move(domain, both);
    isOver.now = true;
    await Promise.all(mailing);
  };

  async function move(domain: LedgerDomain, [before, after]: Holders): Promise<void> {
    domain.leavingMs = Math.min(domain.leavingMs, Date.now());
    if ((await proven(domain, after)) === undefined) return;
    await untilHeard(world, before);
    domain.goneMs = Math.min(domain.goneMs, Date.now());
    ledger.count("domains: moved");
    await Bun.sleep(chance.whole(200, 1000));
    domain.renewedMs = Date.now();
    domain.after = await inboxAt(domain, after);
    await Bun.sleep(chance.whole(500, 2000));
  }

  /** Publishes the proof of a failed domain again. */
  async function comeBack(domain: LedgerDomain, first: ProvenDomain, account: LedgerAccount): Promise<void> {
    domain.backMs = Date.now();
    domain.renewedMs = domain.backMs;
    first.publish();
    if ((await reached(first.id, account, "verified")) === undefined) return;
    await untilHeard(world, account);
    domain.heldAgainMs = Date.now();
    ledger.count("domains: proven again");
    await Bun.sleep(chance.whole(500, 2000));
  }

  /** Adds a domain, publishes its records, and waits until it is verified. */
  async function proven({ name: domain }: LedgerDomain, account: LedgerAccount): Promise<ProvenDomain | undefined> {
    let added: Answer["body"] | undefined;
    await eventually(world, chance, async () => {
      const { status, body } = await ask(world, account, "POST", "/domains", { body: { domain } });
      if (status !== 200 && status !== 201 && status !== 503)
        ledger.violation("api", `adding ${domain} was answered ${status}: ${JSON.stringify(body)}`);
      added = body;
      return status === 200 || status === 201;
    });
    const records = recordsOf(added);
    const publish = () => {
      for (const record of records) dns.records.add(record);
    };
    const withdraw = () => {
      for (const record of records) dns.records.delete(record);
    };
    publish();
    const id = String(added?.id);
    if (await reached(id, account, "verified")) return { id, publish, withdraw };
    ledger.count("domains: not verified in time");
    return undefined;
  }

  /** Waits until a domain whose proof is gone is failing. It goes on as before until it fails. */
  async function failing(domain: LedgerDomain, id: string, account: LedgerAccount): Promise<boolean> {
    const found = await reached(id, account, "failing");
    if (found === undefined) return false;
    ledger.count("domains: failing");
    domain.leavingMs = Date.parse(String(found.failsAt)) - laterMs;
    await Bun.sleep(chance.whole(300, 1500));
    const shown = await ask(world, account, "GET", `/domains/${id}`).catch(() => undefined);
    if (shown?.status === 200 && shown.body.status !== "failing" && Date.now() < domain.leavingMs)
      ledger.violation("P1.3", `${domain.name} was failing, and is ${shown.body.status} without a reason`);
    return true;
  }

  /** Waits until a failing domain has failed. Then it takes and sends no mail. */
  async function fails(domain: LedgerDomain, id: string, account: LedgerAccount): Promise<boolean> {
    if ((await reached(id, account, "failed")) === undefined) return false;
    await untilHeard(world, account);
    domain.goneMs = Date.now();
    ledger.count("domains: failed");
    await Bun.sleep(chance.whole(500, 2000));
    return true;
  }

  /** Asks for checks, of which there is one in ten seconds, until a domain has a status. Undefined if that takes too long. */
  async function reached(id: string, account: LedgerAccount, wanted: string): Promise<Answer["body"] | undefined> {
    for (const endMs = Date.now() + 40_000; Date.now() < endMs && !world.isDraining; ) {
      const verified = await ask(world, account, "POST", `/domains/${id}/verify`, { body: {} }).catch(() => undefined);
      if (verified?.status === 200 && verified.body.status === wanted) return verified.body;
      await Bun.sleep(chance.whole(200, 500));
    }
    return undefined;
  }

  async function inboxAt({ name: domain }: LedgerDomain, account: LedgerAccount): Promise<LedgerInbox | undefined> {
    let id: string | undefined;
    await eventually(world, chance, async () => {
      const made = await ask(world, account, "POST", "/inboxes", { body: { domain, username: "ada" } });
      if (made.status === 201) id = String(made.body.id);
      // It was made by a request whose answer was lost.
      if (made.status === 409) {
        const listed = await ask(world, account, "GET", `/inboxes?domain=${domain}`);
        id = (listed.body.data as { id: string }[])[0]?.id;
      }
      if (![201, 409, 503].includes(made.status))
        ledger.violation("api", `an inbox at ${domain} was answered ${made.status}: ${JSON.stringify(made.body)}`);
      return id !== undefined;
    });
    return id === undefined ? undefined : { id, address: `ada@${domain}`, account };
  }

  async function mailFor(domain: LedgerDomain, sender: number, isOver: { now: boolean }): Promise<void> {
    const address = `ada@${domain.name}`;
    for (let count = 1; !isOver.now; count += 1) {
      const token = `d${name}n${number}s${sender}c${count}`;
      const raw = plainMail(token, address);
      const mail = newMail(world, token, [{ address }], raw, "gone");
      domain.mails.push(mail);
      await eventually(world, chance, () => deliver(world, chance, mail, raw));
      await Bun.sleep(chance.whole(20, 150));
    }
  }

  /** Mail that nothing is reported about. */
  async function mailFrom(domain: LedgerDomain, inbox: LedgerInbox, isOver: { now: boolean }): Promise<void> {
    for (let count = 1; !isOver.now; count += 1) {
      const token = `d${name}n${number}f${count}y3x`;
      const send = newSend(token, inbox);
      const sent: DomainSend = { send, fromMs: Date.now(), answer: undefined };
      domain.sends.push(sent);
      ledger.copies.set(token, send);
      const body = { to: `${token}@far1.example`, subject: token, body: "Hello" };
      await eventually(world, chance, async () => {
        const askedMs = Date.now();
        send.open = true;
        const answer = await ask(world, inbox.account, "POST", `/inboxes/${inbox.id}/send`, { body, key: send.key });
        const isAccepted = answer.status === 200;
        if (isAccepted) send.messageIds.add(String(answer.body.messageId));
        else if (answer.body.code !== "domain_not_verified") return false;
        sent.answer = { askedMs, answeredMs: Date.now(), isAccepted };
        return true;
      });
      await Bun.sleep(chance.whole(50, 400));
    }
  }
}

/** A domain that an account has proven, and its records. */
interface ProvenDomain {
  id: string;
  publish(): void;
  withdraw(): void;
}

function recordsOf(domain: Answer["body"] | undefined): DnsRecord[] {
  const wanted = (domain?.records ?? []) as { type: string; name: string; value: string; priority: number | null }[];
  return wanted.flatMap(({ type, name, value, priority }): DnsRecord[] => {
    if (type === "TXT") return [{ type, name, ttl: 0, data: value.match(/.{1,255}/g) ?? [] }];
    if (type === "MX") return [{ type, name, ttl: 0, data: { preference: priority ?? 10, exchange: value } }];
    return [];
  });
}
