import { afterEach, describe, expect, test } from "bun:test";
import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { type DirectOptions, directRelay } from "../../src/relay/direct.ts";
import type { MailResolver } from "../../src/relay/mx.ts";
import { HostBusy, withinTime } from "../../src/relay/relay.ts";
import { fairly } from "../support/fair-time.ts";
import { mailTo, only } from "../support/relayed-mail.ts";
import { type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { until } from "../support/until.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

/** The zones of a small internet. A string instead of records is the error of the query. */
interface Zones {
  mx?: Record<string, [priority: number, exchange: string][] | string>;
  a?: Record<string, string[] | string>;
  aaaa?: Record<string, string[] | string>;
}

function resolverOf({ mx, a, aaaa }: Zones): MailResolver & { asked: string[] } {
  const asked: string[] = [];
  async function find<T>(kind: string, zone: Record<string, T[] | string> | undefined, name: string): Promise<T[]> {
    asked.push(`${kind} ${name}`);
    const records = zone?.[name] ?? "ENOTFOUND";
    if (records === "never") return new Promise(() => {});
    if (typeof records === "string") throw Object.assign(new Error(`query${kind} ${records}`), { code: records });
    return records;
  }
  return {
    asked,
    resolveMx: async (name) => (await find("MX", mx, name)).map(([priority, exchange]) => ({ priority, exchange })),
    resolve4: (name) => find("A", a, name),
    resolve6: (name) => find("AAAA", aaaa, name),
  };
}

/** One server on each of these loopback addresses, all on the same port, as MX hosts are. */
async function internet(scripts: Record<string, Script>, zones: Zones, options: Partial<DirectOptions> = {}) {
  const servers: Record<string, ScriptedSmtp> = {};
  let port = 0;
  for (const [address, script] of Object.entries(scripts)) {
    const server = await scriptedSmtp(script, address, port);
    port = server.port;
    servers[address] = server;
    open.push(server);
  }
  const resolver = resolverOf(zones);
  const relay = directRelay({
    hostname: "inbox.test",
    resolver,
    random: () => 0,
    port,
    allowPrivate: true,
    dnsMs: 50,
    timings: { connectMs: 2000, greetingMs: 2000, commandMs: 2000, dataMs: 2000 },
    ...options,
  });
  open.push(relay);
  const send = async (to = "jane@Example.com") => only(await relay.send(mailTo(to, "Subject: Hi\r\n\r\nHi\r\n")));
  const mailsAt = () => Object.entries(servers).flatMap(([address, { mails }]) => mails.map(() => address));
  return { servers, relay, resolver, send, mailsAt };
}

function inShort(outcome: RelayOutcome): string {
  if (outcome.kind === "sent") return "sent";
  return `${outcome.kind} ${outcome.failure.code ?? "-"} ${outcome.failure.enhancedCode ?? "-"}`;
}

/** Two hosts, 10 before 20. */
const twoHosts: Zones = {
  mx: {
    "example.com": [
      [20, "mx2.example.com"],
      [10, "mx1.example.com."],
    ],
  },
  a: { "mx1.example.com": ["127.0.0.2"], "mx2.example.com": ["127.0.0.3"] },
};
const when = (command: string, move: ReturnType<NonNullable<Script["answer"]>>): Script => ({
  answer: (line) => (line.startsWith(command) ? move : undefined),
});

describe("which host gets the mail", () => {
  const rows: [what: string, first: Script, outcome: string, at: string[]][] = [
    ["the one with the lowest preference", {}, "sent", ["127.0.0.2"]],
    ["the next one, if the first greylists", when("RCPT", "450 4.2.0 Later"), "sent", ["127.0.0.3"]],
    ["the next one, if the first refuses everybody", { greeting: "554 5.3.2 No service" }, "sent", ["127.0.0.3"]],
    ["the next one, if the first disconnects", { greeting: "reset" }, "sent", ["127.0.0.3"]],
    ["the next one, if the first replies 421", when("MAIL", { lastWords: "421 4.3.2 Busy" }), "sent", ["127.0.0.3"]],
    ["none, if the first refuses the recipient", when("RCPT", "550 5.1.1 Unknown"), "failed 550 5.1.1", []],
  ];
  test.each(rows)("%s", async (_what, first, outcome, at) => {
    const { send, mailsAt } = await internet({ "127.0.0.2": first, "127.0.0.3": {} }, twoHosts);
    expect(inShort(await send())).toBe(outcome);
    expect(mailsAt()).toEqual(at);
  });

  test("no other host after the whole mail was sent: it may have arrived", async () => {
    const { send, mailsAt } = await internet({ "127.0.0.2": when(".", "hang up"), "127.0.0.3": {} }, twoHosts);
    expect(await send()).toMatchObject({ kind: "retry", maybeAccepted: true });
    expect(mailsAt()).toEqual(["127.0.0.2"]);
  });

  test("if all refuse temporarily, the last reply is kept", async () => {
    const scripts = { "127.0.0.2": when("RCPT", "450 4.2.0 Later"), "127.0.0.3": when("RCPT", "451 4.7.1 Greylisted") };
    const { send } = await internet(scripts, twoHosts);
    expect(inShort(await send())).toBe("retry 451 4.7.1");
  });

  test("hosts of equal preference are chosen at random", async () => {
    const zones: Zones = {
      mx: {
        "example.com": [
          [10, "mx1.example.com"],
          [10, "mx2.example.com"],
          [5, "mx3.example.com"],
        ],
      },
      a: { "mx1.example.com": ["127.0.0.2"], "mx2.example.com": ["127.0.0.3"], "mx3.example.com": [] },
    };
    for (const [lots, at] of [
      [[0.1, 0.9, 0.5], "127.0.0.2"],
      [[0.9, 0.1, 0.5], "127.0.0.3"],
    ] as const) {
      const draws = [...lots];
      const { send, mailsAt } = await internet({ "127.0.0.2": {}, "127.0.0.3": {} }, zones, {
        random: () => draws.shift() ?? 0,
      });
      expect(inShort(await send())).toBe("sent");
      expect(mailsAt()).toEqual([at]);
    }
  });

  test("the address of a host that answers", async () => {
    const { send, mailsAt } = await internet(
      { "127.0.0.3": {} },
      { mx: { "example.com": [[10, "mx.example.com"]] }, a: { "mx.example.com": ["127.0.0.2", "127.0.0.3"] } },
    );
    expect(inShort(await send())).toBe("sent");
    expect(mailsAt()).toEqual(["127.0.0.3"]);
  });

  test("no other address of a host that has answered", async () => {
    const greylists = when("RCPT", "450 4.2.0 Later");
    const { servers, send } = await internet(
      { "127.0.0.2": greylists, "127.0.0.3": {} },
      { a: { "example.com": ["127.0.0.2", "127.0.0.3"] } },
    );
    expect(inShort(await send())).toBe("retry 450 4.2.0");
    expect(servers["127.0.0.3"]?.connections()).toBe(0);
  });

  test("the domain itself, if it has no MX", async () => {
    const zones: Zones = { mx: { "example.com": "ENODATA" }, a: { "example.com": ["127.0.0.2"] } };
    const { send, mailsAt } = await internet({ "127.0.0.2": {} }, zones);
    expect(inShort(await send())).toBe("sent");
    expect(mailsAt()).toEqual(["127.0.0.2"]);
  });
});

describe("a DNS result", () => {
  const rows: [what: string, zones: Zones, outcome: string][] = [
    ["a null MX", { mx: { "example.com": [[0, "."]] }, a: { "example.com": ["127.0.0.2"] } }, "failed 556 5.1.10"],
    ["a null MX as Node writes it", { mx: { "example.com": [[0, ""]] } }, "failed 556 5.1.10"],
    ["no such domain", {}, "failed 550 5.1.2"],
    ["no such host behind the MX", { mx: { "example.com": [[10, "gone.example.com"]] } }, "failed 550 5.4.4"],
    [
      "MX: server failure",
      { mx: { "example.com": "ESERVFAIL" }, a: { "example.com": ["127.0.0.2"] } },
      "retry - 4.4.3",
    ],
    ["MX: no answer in time", { mx: { "example.com": "ETIMEOUT" } }, "retry - 4.4.3"],
    ["MX: no answer at all", { mx: { "example.com": "never" } }, "retry - 4.4.3"],
    ["addresses: no answer", { mx: { "example.com": "ENODATA" }, a: { "example.com": "ETIMEOUT" } }, "retry - 4.4.3"],
    ["one family fails, the other is empty", { aaaa: { "example.com": "ESERVFAIL" } }, "retry - 4.4.3"],
  ];
  test.each(rows)("%s", async (_what, zones, outcome) => {
    const { send, mailsAt } = await internet({ "127.0.0.2": {} }, zones);
    expect(inShort(await send())).toBe(outcome);
    expect(mailsAt()).toEqual([]);
  });

  test("comes from queries in lower case, first for MX", async () => {
    const { send, resolver } = await internet({}, {});
    await send();
    expect(resolver.asked).toEqual(["MX example.com", "A example.com", "AAAA example.com"]);
  });
});

describe("DNS records that lead to internal hosts are not followed", () => {
  const inside = ["127.0.0.2", "10.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.2"];
  test.each(inside)("%s", async (address) => {
    const zones: Zones = {
      mx: {
        "example.com": [
          [10, "mx.example.com"],
          [20, address],
        ],
      },
      a: { "mx.example.com": address.includes(":") ? [] : [address] },
      aaaa: { "mx.example.com": address.includes(":") ? [address] : [] },
    };
    const { servers, send } = await internet({ "127.0.0.2": {} }, zones, { allowPrivate: false });
    expect(inShort(await send())).toBe("failed 550 5.4.4");
    expect(servers["127.0.0.2"]?.connections()).toBe(0);
  });
});

describe("STARTTLS", () => {
  const rows: [what: string, script: Script, isEncrypted: boolean][] = [
    ["is used if it is offered, with any certificate", { extensions: ["STARTTLS"] }, true],
    ["is not needed", {}, false],
    [
      "may fail, then the mail is sent in plain text on a new connection",
      { extensions: ["STARTTLS"], tls: "handshake fails" },
      false,
    ],
  ];
  test.each(rows)("%s", async (_what, script, isEncrypted) => {
    const zones: Zones = { a: { "example.com": ["127.0.0.2"] } };
    const { servers, send } = await internet({ "127.0.0.2": script }, zones);
    expect(inShort(await send())).toBe("sent");
    expect(servers["127.0.0.2"]?.mails.map((mail) => mail.isEncrypted)).toEqual([isEncrypted]);
  });
});

test("a domain with many dead hosts is given up after six", async () => {
  const addresses = Array.from({ length: 50 }, (_, index) => `127.0.1.${index + 1}`);
  const { servers, send, resolver } = await internet(
    { "127.0.0.2": {} },
    {
      mx: {
        "example.com": [
          [10, "dead.example.com"],
          [20, "alive.example.com"],
        ],
      },
      a: { "dead.example.com": addresses, "alive.example.com": ["127.0.0.2"] },
    },
  );
  expect(await send()).toMatchObject({ kind: "retry" });
  expect(servers["127.0.0.2"]?.connections()).toBe(0);
  expect(resolver.asked).not.toContain("MX dead.example.com");
});

test("at most six of hundreds of mail hosts are looked up", async () => {
  const hosts = Array.from({ length: 500 }, (_, index): [number, string] => [index, `mx${index}.example.com`]);
  const { send, resolver } = await internet({}, { mx: { "example.com": hosts } });
  expect(inShort(await send())).toBe("retry - 4.4.3");
  expect(resolver.asked).toHaveLength(1 + 2 * 6);
});

describe("two hundred domains that lead to one host", () => {
  const domains = Array.from({ length: 200 }, (_, number) => `domain-${number}.example`);
  const zones: Zones = {
    mx: Object.fromEntries(
      domains.map((domain) => [
        domain,
        [
          [10, "mx.example"],
          [20, "backup.example"],
        ],
      ]),
    ),
    a: { "mx.example": ["127.0.0.2"], "backup.example": ["127.0.0.3"] },
  };
  const mailOf = (domain: string, accountId: string) => ({
    ...mailTo(`jane@${domain}`, "Subject: Hi\r\n\r\nHi\r\n"),
    accountId,
  });

  test("give it at most 20 connections, and a mail that finds none free is not tried", async () => {
    const { servers, relay } = await internet({ "127.0.0.2": when(".", "silence"), "127.0.0.3": {} }, zones);
    const calledOff = new AbortController();
    const refusals: unknown[] = [];
    const sent = domains.map((domain, number) =>
      relay.send(mailOf(domain, `acc_${number % 2}`), calledOff.signal).catch((error) => refusals.push(error)),
    );
    await until(() => refusals.length === 184);
    await servers["127.0.0.2"]?.openIs(16);
    expect(refusals.every((each) => each instanceof HostBusy && each.againInMs >= 1000)).toBe(true);
    expect(servers["127.0.0.2"]?.connections()).toBe(16);
    // The host of lower preference is not tried.
    expect(servers["127.0.0.3"]?.connections()).toBe(0);
    const [last = ""] = domains.slice(-1);
    expect(() => relay.checkRoom?.(`jane@${last}`, "acc_0")).toThrow(HostBusy);
    expect(relay.checkRoom?.(`jane@${last}`, "acc_3")).toBeUndefined();
    calledOff.abort();
    await Promise.all(sent);
    expect(inShort(only(await relay.send(mailOf(last, "acc_0"), AbortSignal.timeout(300))))).toBe("retry - -");
  });

  test("delay only the recipients of a mail whose host is busy", async () => {
    const { servers, relay } = await internet(
      { "127.0.0.2": when(".", "silence"), "127.0.0.3": {} },
      { a: { "busy.example": ["127.0.0.2"], "free.example": ["127.0.0.3"] } },
    );
    const calledOff = new AbortController();
    const hanging = Array.from({ length: 16 }, () => relay.send(mailOf("busy.example", "acc_0"), calledOff.signal));
    await servers["127.0.0.2"]?.openIs(16);
    const mail = { ...mailTo(["a@busy.example", "b@free.example"], "\r\n"), accountId: "acc_0" };
    expect((await relay.send(mail)).map(inShort)).toEqual(["retry - 4.4.3", "sent"]);
    calledOff.abort();
    await Promise.all(hanging);
  });
});

describe("an attempt ends at its time limit", () => {
  const ehloThatDrips: Script = {
    answer: (line) => (line.startsWith("EHLO") ? { packets: Array(100_000).fill("250-a\r\n") } : undefined),
  };
  const never: Zones = { mx: { "example.com": "never" } };
  const rows: [what: string, script: Script, zones: Zones][] = [
    ["a reply drips", ehloThatDrips, { a: { "example.com": ["127.0.0.2"] } }],
    ["six hosts drip, one after the other", ehloThatDrips, { a: { "example.com": Array(6).fill("127.0.0.2") } }],
    ["the server is silent", { greeting: "silence" }, { a: { "example.com": ["127.0.0.2"] } }],
    ["the final dot isn't answered", when(".", "silence"), { a: { "example.com": ["127.0.0.2"] } }],
    ["the name server is silent", {}, never],
  ];
  test.each(rows)("though %s", async (_what, script, zones) => {
    const timings = { connectMs: 60_000, greetingMs: 60_000, commandMs: 60_000, dataMs: 60_000 };
    const { relay, servers } = await internet({ "127.0.0.2": script }, zones, { timings, dnsMs: 60_000 });
    const { result, fairMs } = await fairly(() =>
      withinTime(relay, 300).send(mailTo("jane@example.com", "Subject: Hi\r\n\r\nHi\r\n")),
    );
    expect(result[0]).toMatchObject({
      kind: "retry",
      failure: { code: null, message: "Cannot relay: the attempt took longer than 0.3 s" },
    });
    expect(fairMs).toBeLessThan(2_000);
    await servers["127.0.0.2"]?.openIs(0);
    await relay.close();
  });

  test("an attempt that is aborted has another message", async () => {
    const { relay } = await internet({ "127.0.0.2": { greeting: "silence" } }, { a: { "example.com": ["127.0.0.2"] } });
    const calledOff = AbortSignal.abort();
    const [outcome] = await withinTime(relay).send(mailTo("jane@example.com", "\r\n"), calledOff);
    expect(outcome).toMatchObject({ kind: "retry", failure: { message: expect.not.stringContaining("longer") } });
  });
});

describe("a mail for several recipients", () => {
  const greylists = when("RCPT TO:<b", "450 4.2.0 Later");
  const refuses = when("RCPT TO:<c", "550 5.1.1 Unknown");
  const raw = "Subject: Hi\r\n\r\nHi\r\n";

  test("in one domain is tried at the next host only for the recipient that the first host delayed", async () => {
    const first: Script = { answer: (line, seen) => greylists.answer?.(line, seen) ?? refuses.answer?.(line, seen) };
    const { servers, relay } = await internet({ "127.0.0.2": first, "127.0.0.3": {} }, twoHosts);
    const outcomes = await relay.send(mailTo(["a@example.com", "b@example.com", "c@Example.com"], raw));
    expect(outcomes.map(inShort)).toEqual(["sent", "sent", "failed 550 5.1.1"]);
    const rcpts = Object.values(servers).map(({ commands }) => commands.filter((line) => line.startsWith("RCPT")));
    expect(rcpts).toEqual([
      ["RCPT TO:<a@example.com>", "RCPT TO:<b@example.com>", "RCPT TO:<c@Example.com>"],
      ["RCPT TO:<b@example.com>"],
    ]);
  });

  test("in several domains is sent to the hosts of each, despite a dead one", async () => {
    const { relay, mailsAt } = await internet(
      { "127.0.0.2": { greeting: "silence" }, "127.0.0.3": {} },
      { a: { "dead.example": ["127.0.0.2"], "alive.example": ["127.0.0.3"] } },
      { attemptMs: 300, timings: { connectMs: 60_000, greetingMs: 60_000, commandMs: 60_000, dataMs: 60_000 } },
    );
    const outcomes = await relay.send(
      mailTo(["a@dead.example", "b@alive.example", "c@dead.example", "d@no.example"], raw),
    );
    expect(outcomes.map(inShort)).toEqual(["retry - -", "sent", "retry - -", "failed 550 5.1.2"]);
    expect(outcomes[0]).toMatchObject({ failure: { message: "Cannot relay: the attempt took longer than 0.3 s" } });
    expect(mailsAt()).toEqual(["127.0.0.3"]);
  });
});

test("each connection ends with QUIT, and closing waits for it", async () => {
  const { servers, relay, send } = await internet({ "127.0.0.2": {} }, { a: { "example.com": ["127.0.0.2"] } });
  await send();
  await relay.close();
  expect(servers["127.0.0.2"]?.commands.at(-1)).toBe("QUIT");
  expect(relay.serverOf("jane@Example.COM")).toBe("example.com");
  expect(relay.describe()).toBe("direct");
});
