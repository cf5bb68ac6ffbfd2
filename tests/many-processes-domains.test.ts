import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer as DnsRecord } from "dns-packet";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { enginesHere } from "./support/engines.ts";
import { type Fleet, operatorOf, startFleet, withoutLimits } from "./support/fleet.ts";
import type { RunningInboxd } from "./support/inboxd.ts";
import { mailOf } from "./support/mail.ts";
import { nameServerOf, published } from "./support/published.ts";
import { type ScriptedDns, scriptedDns, zone } from "./support/scripted-dns.ts";
import { type ScriptedSmtp, scriptedSmtp } from "./support/scripted-smtp.ts";
import { until, untilSo } from "./support/until.ts";
import { deliver } from "./support/world.ts";

const rounds = Number(process.env.KILL_ROUNDS ?? 10);

/** A domain as the API shows it. */
interface ShownDomain {
  id: string;
  status: string;
  createdAt: string;
  checkedAt: string | null;
  nextCheckAt: string | null;
  verifiedAt: string | null;
  records: {
    purpose: string;
    type: "TXT" | "MX" | "CNAME";
    name: string;
    value: string;
    priority: number | null;
    problem: string | null;
  }[];
}

/** The domain of one account. */
interface Claim {
  apiKey: string;
  domain: ShownDomain;
}

describe.skipIf(!enginesHere().includes("postgres"))("own domains of three processes on one Postgres", () => {
  /** The records that the name server has. */
  let there: readonly DnsRecord[] = [];
  /** The records that it had when each mail reached the relay. */
  const thereAtMail: (readonly DnsRecord[])[] = [];
  let dns: ScriptedDns;
  let relay: ScriptedSmtp;
  let fleet: Fleet;
  let operatorKey: string;
  let mails = 0;
  beforeAll(async () => {
    dns = await scriptedDns((question) => zone(there)(question));
    relay = await scriptedSmtp({
      answer(command) {
        if (command === ".") thereAtMail.push(there);
        return undefined;
      },
    });
    fleet = await startFleet(3, {
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      MAIL_DOMAIN: "in.example",
      SMTP_HOSTNAME: "mx.example",
      OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
      ...withoutLimits,
    });
    operatorKey = await operatorOf(fleet);
  }, 120_000);
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
    await relay?.close();
    await dns?.close();
  });

  test("a domain is verified once by its check after 15 seconds, if its records are published after the first one", async () => {
    const added = await add("shop.example.com", fleet.apiKey);
    const shown = async () => now(added);
    await untilSo(async () => (await shown()).domain.checkedAt !== null);
    const first = (await shown()).domain;
    publish("shop.example.com", first.records);
    await untilSo(async () => (await shown()).domain.status === "verified");
    const { createdAt, verifiedAt } = (await shown()).domain;
    // By the instants of the service: the next check is due 15 seconds after POST, and a process looks for due ones each second.
    expect(first).toMatchObject({ status: "pending", nextCheckAt: afterMs(createdAt, 15_000) });
    console.log(`verified ${(Date.parse(verifiedAt ?? "") - Date.parse(createdAt)) / 1000} s after POST`);
    expect(await eventsOf("domain.verified")).toEqual([{ id: added.domain.id }]);
  }, 90_000);

  test("of 20 accounts that prove one name at once one gets it, and another one when its record is gone", async () => {
    const name = "wanted.example.com";
    const claims = await claimed(name, 20);
    publish(
      name,
      claims.flatMap(({ domain }) => domain.records),
    );
    await verifyAll(claims);
    const [holder, ...others] = (await outcome(claims)) as [Claim, ...Claim[]];
    expect(others.map(({ domain }) => [domain.status, dkimOf(domain).problem])).toEqual(
      Array(19).fill(["pending", "taken"]),
    );
    const address = `ada@${name}`;
    const old = await newInbox(holder, name);
    for (const { smtpPort } of fleet.processes) expect(await mail(smtpPort, address)).toStartWith("250");

    withdraw(dkimOf(holder.domain).name);
    await fleet.database.script("update domains set asked_at = null");
    await verifyAll(others);
    const [next] = (await outcome(claims)) as [Claim];
    expect(next.domain.id).not.toBe(holder.domain.id);
    expect((await now(holder)).domain).toMatchObject({
      status: "failed",
      sending: "not_ready",
      receiving: "not_ready",
    });
    for (const { smtpPort } of fleet.processes)
      await untilSo(async () => (await mail(smtpPort, address)) === "550 5.1.1 No such inbox here");

    const fresh = await newInbox(next, name);
    for (const { smtpPort } of fleet.processes)
      await untilSo(async () => (await mail(smtpPort, address)).startsWith("250"));
    const totals = [old, fresh].map(
      async ({ id, apiKey }) => (await fleet.api(`/v1/inboxes/${id}/messages`, { apiKey })).body.total,
    );
    expect(await Promise.all(totals)).toEqual([3, 3]);
  }, 90_000);

  test("each mail of a rotation under 50 sends a second verifies with the zone as it was, and with that of the week after", async () => {
    const name = "rotating.example.com";
    const [claim] = (await claimed(name, 1)) as [Claim];
    publish(name, claim.domain.records);
    await verifyAll([claim]);
    const { id: inbox } = await newInbox(claim, name);
    let isOver = false;
    const sending: Promise<string>[] = [];
    const relayedBefore = relay.mails.length;
    const waiting = () => sending.length - (relay.mails.length - relayedBefore);
    const load = (async () => {
      // A machine that relays fewer gets no growing queue.
      for (; !isOver; await Bun.sleep(20)) if (waiting() < 100) sending.push(send(claim, inbox, sending.length));
    })();
    const sentMore = (count: number) => {
      const enough = relay.mails.length + count;
      return untilSo(() => relay.mails.length >= enough);
    };

    await sentMore(50);
    await fleet.api(`/v1/domains/${claim.domain.id}/rotate-dkim`, { method: "POST", body: {}, apiKey: claim.apiKey });
    await sentMore(50);
    const rotating = await now(claim);
    publish(name, rotating.domain.records);
    await sentMore(10);
    await fleet.database.script("update domains set asked_at = null");
    await verifyAll([claim]);
    await sentMore(75);
    isOver = true;
    await load;
    const ids = await Promise.all(sending);
    const mailsOf = () =>
      relay.mails.map(({ raw }, at) => ({
        raw,
        at,
        id: /^Message-ID: <(msg_[^@]+)@/im.exec(raw.toString())?.[1] ?? "",
      }));
    await untilSo(() => mailsOf().filter(({ id }) => ids.includes(id)).length >= ids.length);

    // The week after, the zone has the records that the service still lists.
    const weekAfter = published((await now(claim)).domain.records);
    const selectors = new Map<string, number>();
    for (const { raw, at } of mailsOf().filter(({ id }) => ids.includes(id))) {
      for (const records of [thereAtMail[at] ?? [], weekAfter]) {
        const { results } = await dkimVerify(raw, { resolver: async (asked: string) => textsIn(records, asked) });
        expect(results.map(({ signingDomain, status }) => [signingDomain, status.result])).toEqual([[name, "pass"]]);
        const selector = results[0]?.selector ?? "";
        selectors.set(selector, (selectors.get(selector) ?? 0) + 1);
      }
    }
    expect(selectors.size).toBe(2);
    console.log(`${ids.length} mails, by selector: ${[...selectors.values()].map((count) => count / 2).join(" + ")}`);
  }, 120_000);

  test(`a domain that moves ${rounds} times under kill -9 never has two holders, and is never stuck`, async () => {
    const name = "moving.example.com";
    const claims = await claimed(name, 4);
    publish(
      name,
      claims.flatMap(({ domain }) => domain.records),
    );
    const processes = [...fleet.processes];
    await verifyAll(claims);
    let holder = (await outcome(claims))[0]?.domain.id;
    /** From the last question of a check to its answer, in a first move without a kill. */
    let settlingMs = 0;
    let died = 0;

    for (let round = 0; round <= rounds; round += 1) {
      const lost = claims.flatMap(({ domain }) => (domain.id === holder ? [dkimOf(domain).name] : []));
      const others = claims.filter(({ domain }) => domain.id !== holder);
      publish(
        name,
        others.flatMap(({ domain }) => domain.records),
      );
      // The checks of the workers are due too.
      await fleet.database.script(`update domains set asked_at = null, next_check_at = now() where name = '${name}'`);
      const before = dns.questions.length;
      const verifying = Promise.allSettled(others.map((claim, at) => verify(claim, processes[at])));
      // The last questions of a check are about the record of the holder. Its transaction follows.
      await until(() => dns.questions.slice(before).some((question) => lost.includes(question.name)));
      const askedMs = performance.now();
      if (round > 0) {
        await Bun.sleep(Math.random() * settlingMs);
        const at = Math.floor(Math.random() * processes.length);
        processes[at] = await killed(processes[at]);
      }
      died += (await verifying).filter(({ status }) => status === "rejected").length;
      if (round === 0) settlingMs = performance.now() - askedMs;
      // As a minute later, when the leases of the dead process are over.
      await fleet.database.script(`update domains set leased_until = null where name = '${name}'`);
      await untilSo(async () => {
        const rows = await rowsOf(name);
        const holders = rows.filter(({ status }) => status === "verified" || status === "failing");
        expect(holders.length).toBeLessThanOrEqual(1);
        const hasMoved = holders[0] !== undefined && holders[0].id !== holder;
        if (!hasMoved || rows.some(({ isDue }) => isDue)) return false;
        holder = holders[0]?.id;
        return true;
      });
    }

    console.log(`${rounds} kills within ${Math.round(settlingMs)} ms, in which ${died} checks by request died`);
    // Each change of a row has its event and its entry in the audit, and none is there without the change.
    for (const { id, status } of await rowsOf(name)) {
      const verified = (await eventsOf("domain.verified")).filter((event) => event.id === id).length;
      const failed = (await eventsOf("domain.failed")).filter((event) => event.id === id).length;
      expect([id, verified - failed]).toEqual([id, status === "verified" ? 1 : 0]);
      expect(await auditOf(id)).toEqual(
        [
          { action: "domain.failed", count: failed },
          { action: "domain.verified", count: verified },
        ].filter(({ count }) => count > 0),
      );
    }
  }, 180_000);

  /** Replaces the records of a name. */
  function publish(name: string, records: ShownDomain["records"]): void {
    const others = there.filter((record) => record.name !== name && !record.name.endsWith(`.${name}`));
    there = [...others, nameServerOf(name), ...published(records)];
  }

  function withdraw(name: string): void {
    there = there.filter((record) => record.name !== name);
  }

  async function add(name: string, apiKey: string): Promise<Claim> {
    const { status, body } = await fleet.api("/v1/domains", { method: "POST", body: { domain: name }, apiKey });
    expect(status).toBe(201);
    return { apiKey, domain: body };
  }

  async function now({ apiKey, domain }: Claim): Promise<Claim> {
    return { apiKey, domain: (await fleet.api(`/v1/domains/${domain.id}`, { apiKey })).body };
  }

  /** Claims of a name by new accounts, after their first checks, which find nothing. */
  async function claimed(name: string, count: number): Promise<Claim[]> {
    const claims = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const body = { name: `${name} ${index}`, plan: "enterprise" };
        const made = await fleet.api("/v1/admin/accounts", { method: "POST", body, apiKey: operatorKey });
        return add(name, made.body.key);
      }),
    );
    await untilSo(async () => (await rowsOf(name)).every(({ isDue }) => !isDue));
    return claims;
  }

  /** Has all of these checked at once, by all processes in turn. */
  async function verifyAll(claims: readonly Claim[]): Promise<void> {
    await Promise.all(claims.map((claim) => verify(claim)));
  }

  function verify({ apiKey, domain }: Claim, process?: RunningInboxd) {
    return fleet.api(`/v1/domains/${domain.id}/verify`, {
      method: "POST",
      body: {},
      apiKey,
      ...(process !== undefined && { process }),
    });
  }

  /** The claims as they are now, the only verified one first. */
  async function outcome(claims: readonly Claim[]): Promise<Claim[]> {
    const all = await Promise.all(claims.map(now));
    const isHolder = ({ domain }: Claim) => domain.status === "verified";
    expect(all.filter(isHolder)).toHaveLength(1);
    return [...all.filter(isHolder), ...all.filter((claim) => !isHolder(claim))];
  }

  /** Kills a process; returns another one in its place. */
  async function killed(process: RunningInboxd | undefined): Promise<RunningInboxd> {
    process?.signal("SIGKILL");
    await process?.exited;
    return fleet.another();
  }

  async function newInbox({ apiKey }: Claim, domain: string): Promise<{ id: string; apiKey: string }> {
    const body = { username: "ada", domain };
    const made = await fleet.api("/v1/inboxes", { method: "POST", body, apiKey });
    expect(made.status).toBe(201);
    return { id: made.body.id, apiKey };
  }

  function mail(port: number, address: string): Promise<string> {
    mails += 1;
    return deliver(port, mailOf({ to: address, messageId: `${mails}@${address}` }), address);
  }

  /** Sends a mail; returns the id of its message. */
  async function send({ apiKey }: Claim, inbox: string, index: number): Promise<string> {
    const { status, body } = await fleet.api(`/v1/inboxes/${inbox}/send`, {
      method: "POST",
      headers: { "idempotency-key": `rotation-${index}`, prefer: "respond-async" },
      body: { to: `jane${index % 20}@elsewhere.example`, subject: `Mail ${index}`, body: "Hello Jane" },
      apiKey,
    });
    expect(status).toBe(200);
    return body.messageId;
  }

  async function rowsOf(name: string) {
    const text = `select id, status, (next_check_at is not null and next_check_at <= now()) or leased_until > now() as "isDue" from domains where name = $1`;
    return (await fleet.database.run(text, [name])) as { id: string; status: string; isDue: boolean }[];
  }

  async function eventsOf(type: string) {
    const text = "select data->'domain'->>'id' as id from events where type = $1";
    return (await fleet.database.run(text, [type])) as { id: string }[];
  }

  async function auditOf(domainId: string) {
    const text = `select action, count(*)::int as count from audit_entries where target_id = $1 and action in ('domain.verified', 'domain.failed') group by action order by action`;
    return (await fleet.database.run(text, [domainId])) as { action: string; count: number }[];
  }
});

function dkimOf({ records }: ShownDomain): ShownDomain["records"][number] {
  const record = records.find(({ purpose }) => purpose === "dkim");
  if (record === undefined) throw new Error("The domain has no DKIM record");
  return record;
}

/** The TXT records at a name, as a resolver returns them. */
function textsIn(records: readonly DnsRecord[], name: string): string[][] {
  return records.flatMap((record) =>
    record.type === "TXT" && record.name === name ? [[record.data].flat().map(String)] : [],
  );
}

function afterMs(instant: string, ms: number): string {
  return new Date(Date.parse(instant) + ms).toISOString();
}
