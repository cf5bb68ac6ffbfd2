import { afterEach, expect, test } from "bun:test";
import type { Answer as Record } from "dns-packet";
import { type ZoneLimits, zoneQuestions } from "../../src/dns/zones.ts";
import { isPublicAddress } from "../../src/standards/ip.ts";
import { type DnsScript, type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";

const servers: ScriptedDns[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(({ close }) => close()));
});

async function serverOf(script: DnsScript, address?: string, port?: number): Promise<ScriptedDns> {
  const server = await scriptedDns(script, address, port);
  servers.push(server);
  return server;
}

const ns = (name: string, ...hosts: string[]): Record[] => hosts.map((data) => ({ name, type: "NS", ttl: 0, data }));
const a = (name: string, data: string): Record => ({ name, type: "A", ttl: 0, data });
const txt = (name: string, data: string): Record => ({ name, type: "TXT", ttl: 0, data });
const cname = (name: string, data: string): Record => ({ name, type: "CNAME", ttl: 0, data });

interface Asked {
  resolver: ScriptedDns;
  /** The port of the zones' servers. */
  port: number;
  isAllowed?: (address: string) => boolean;
  resolversAlone?: boolean;
  limits?: Partial<ZoneLimits>;
}

function questionsTo({ resolver, port, isAllowed = () => true, resolversAlone = false, limits }: Asked) {
  return zoneQuestions({
    resolvers: [resolver],
    resolversAlone,
    isAllowed,
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    signal: new AbortController().signal,
    limits: { tryMs: 200, port, ...limits },
  });
}

test("the zone is found by walking up, and each of its servers is asked itself, three at most", async () => {
  const one = await serverOf(zone([txt("s.mail.one.test", "a")]), "127.0.0.2");
  const two = await serverOf(zone([txt("s.mail.one.test", "b")]), "127.0.0.3", one.port);
  const three = await serverOf(zone([]), "127.0.0.4", one.port);
  const four = await serverOf(zone([]), "127.0.0.5", one.port);
  const names = ["ns1", "ns2", "ns3", "ns4"].map((name) => `${name}.host.test`);
  const resolver = await serverOf(
    zone([...ns("one.test", ...names), ...names.map((name, index) => a(name, `127.0.0.${index + 2}`))]),
  );
  const questions = questionsTo({ resolver, port: one.port });
  expect(await questions.zoneOf("mail.one.test")).toBe("one.test");
  const answers = await questions.ask("s.mail.one.test", "TXT", "mail.one.test");
  expect(answers).toMatchObject([
    { kind: "found", records: ["a"] },
    { kind: "found", records: ["b"] },
    { kind: "no_name" },
  ]);
  expect([two, three, four].map((server) => server.questions.length)).toEqual([1, 1, 0]);
  expect(resolver.questions.map(({ type }) => type)).not.toContain("TXT");
});

test("an alias and a delegation are followed to the servers of their zones", async () => {
  const aliases = new Map([
    ["alias.one.test", "key.two.test"],
    ["loop.one.test", "loop.one.test"],
  ]);
  const one = await serverOf(({ name }) => {
    const target = aliases.get(name);
    return target === undefined
      ? { authorities: ns("_domainkey.one.test", "ns.two.test") }
      : { answers: [cname(name, target)] };
  }, "127.0.0.2");
  const two = await serverOf(
    zone([txt("key.two.test", "theirs"), txt("s._domainkey.one.test", "delegated")]),
    "127.0.0.3",
    one.port,
  );
  const resolver = await serverOf(
    zone([
      ...ns("one.test", "ns.one.test"),
      ...ns("two.test", "ns.two.test"),
      ...ns("_domainkey.one.test", "ns.two.test"),
      a("ns.one.test", "127.0.0.2"),
      a("ns.two.test", "127.0.0.3"),
    ]),
  );
  const questions = questionsTo({ resolver, port: one.port });
  const ask = (name: string) => questions.ask(name, "TXT", "one.test");
  expect(await ask("alias.one.test")).toMatchObject([{ kind: "found", records: ["theirs"], isAlias: true }]);
  expect(await ask("s._domainkey.one.test")).toMatchObject([{ kind: "found", records: ["delegated"], isAlias: false }]);
  expect(await ask("loop.one.test")).toMatchObject([{ kind: "unknown", reason: "aliases without end" }]);
  expect(two.questions.length).toBe(2);
});

test("no packet goes to a server with a private address", async () => {
  const inside = await serverOf(zone([]), "127.0.0.2");
  const resolver = await serverOf(
    zone([
      ...ns("one.test", "a.one.test", "b.one.test", "c.one.test"),
      a("a.one.test", "127.0.0.2"),
      a("b.one.test", "10.0.0.1"),
      { name: "c.one.test", type: "AAAA", ttl: 0, data: "::1" },
    ]),
  );
  const questions = questionsTo({ resolver, port: inside.port, isAllowed: isPublicAddress });
  expect(await questions.ask("s.one.test", "TXT", "one.test")).toMatchObject([{ kind: "unknown" }]);
  expect(inside.questions).toEqual([]);
  expect(resolver.questions.map(({ type }) => type)).not.toContain("TXT");
});

test("where no server answers, the resolvers are asked; a silent one beside others just does not count", async () => {
  const silent = await serverOf(() => "silence", "127.0.0.2");
  const good = await serverOf(zone([txt("s.two.test", "b")]), "127.0.0.3", silent.port);
  const resolver = await serverOf(
    zone([
      ...ns("one.test", "ns.one.test"),
      ...ns("two.test", "ns.one.test", "ns.two.test"),
      a("ns.one.test", "127.0.0.2"),
      a("ns.two.test", "127.0.0.3"),
      txt("s.one.test", "from the cache"),
    ]),
  );
  const questions = questionsTo({ resolver, port: good.port, limits: { tryMs: 50 } });
  expect(await questions.ask("s.one.test", "TXT", "one.test")).toMatchObject([
    { kind: "found", records: ["from the cache"] },
  ]);
  expect(await questions.ask("s.two.test", "TXT", "two.test")).toMatchObject([
    { kind: "unknown" },
    { kind: "found", records: ["b"] },
  ]);
});

test("a check ends at its number of questions and at its time, whatever the servers say", async () => {
  let made = 0;
  const endless = await serverOf(({ name }) => {
    made += 1;
    return { answers: [cname(name, `n${made}.z${made}.test`)] };
  }, "127.0.0.2");
  const resolver = await serverOf(({ name, type }) =>
    type === "NS" ? { answers: ns(name, "ns.one.test") } : { answers: [a(name, "127.0.0.2")] },
  );
  const questions = questionsTo({ resolver, port: endless.port });
  await Promise.all(Array.from({ length: 9 }, (_, index) => questions.ask(`s${index}.one.test`, "TXT", "one.test")));
  expect(endless.questions.length + resolver.questions.length).toBe(40);

  // Over TCP, after a truncated answer, a byte at a time.
  const dripping = await serverOf(
    ({ over }) => (over === "udp" ? { flags: 0x0200 } : new Promise(() => undefined)),
    "127.0.0.3",
  );
  const slow = await serverOf(zone([...ns("one.test", "ns.one.test"), a("ns.one.test", "127.0.0.3")]));
  const bounded = questionsTo({ resolver: slow, port: dripping.port, limits: { ms: 300, tryMs: 10_000 } });
  expect(await bounded.ask("s.one.test", "TXT", "one.test")).toMatchObject([{ kind: "unknown" }]);
});

test("servers that are given are asked alone, each of them", async () => {
  const resolver = await serverOf(zone([...ns("one.test", "ns.one.test"), txt("s.one.test", "here")]));
  const questions = questionsTo({ resolver, port: 1, resolversAlone: true });
  expect(await questions.zoneOf("one.test")).toBe("one.test");
  expect(await questions.ask("s.one.test", "TXT", "one.test")).toMatchObject([{ kind: "found", records: ["here"] }]);
  expect(resolver.questions.map(({ type }) => type)).toEqual(["NS", "TXT"]);
});
