import { afterEach, describe, expect, test } from "bun:test";
import { type WebhookClientOptions, webhookClient } from "../../src/webhook/client.ts";
import { systemLookup } from "../../src/webhook/resolve.ts";
import { answer, type Receiver, type ReceiverOptions, startReceiver } from "../support/receiver.ts";
import { type StubDns, startStubDns } from "../support/stub-dns.ts";
import {
  addressCertificate,
  expiredCertificate,
  hooksCertificate,
  hooksKey,
  otherCertificate,
  otherKey,
  testAuthority,
} from "../support/test-authority.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function receiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const started = await startReceiver(options);
  cleanups.push(started.close);
  return started;
}

async function stubDns(): Promise<StubDns> {
  const started = await startStubDns();
  cleanups.push(started.close);
  return started;
}

function client(options: Partial<WebhookClientOptions>) {
  const made = webhookClient({ allowPrivate: false, version: "1", timeoutMs: 5000, ca: testAuthority, ...options });
  cleanups.push(made.close);
  return made;
}

const post = (poster: ReturnType<typeof client>, url: string) => poster.post({ url, headers: {}, body: "{}" });

describe("in production, a name with an internal address is refused without a connection:", () => {
  const rows: [string, string[], string][] = [
    ["loopback", ["127.0.0.1"], "127.0.0.1"],
    ["loopback in IPv6", ["::1"], "::1"],
    ["private", ["10.0.0.7"], "10.0.0.7"],
    ["metadata", ["169.254.169.254"], "169.254.169.254"],
    ["an allowed address before a forbidden one", ["8.8.8.8", "127.0.0.1"], "127.0.0.1"],
    ["a forbidden address before an allowed one", ["127.0.0.1", "8.8.8.8"], "127.0.0.1"],
    ["allowed in IPv4 and forbidden in IPv6", ["8.8.8.8", "::1"], "::1"],
    ["v4-mapped", ["::ffff:127.0.0.1"], "::ffff:127.0.0.1"],
    ["NAT64", ["64:ff9b::7f00:1"], "64:ff9b::7f00:1"],
    ["6to4", ["2002:7f00:1::"], "2002:7f00:1::"],
  ];
  test.each(rows)("%s", async (_, addresses, refused) => {
    const [dns, inside] = [await stubDns(), await receiver()];
    dns.answers("hooks.test", addresses);
    const reply = await post(client({ lookup: dns.lookup }), `https://hooks.test:${inside.port}/`);
    expect(reply).toMatchObject({ kind: "refused_address", address: refused });
    expect(reply).toHaveProperty("error", "hooks.test leads to an address that is not public");
    expect(inside.connections()).toBe(0);
  });

  test("a name whose address was public before", async () => {
    const [dns, inside] = [await stubDns(), await receiver()];
    // This address cannot be reached from a test, but it must not be refused.
    dns.answers("hooks.test", ["192.0.2.1"], ["127.0.0.1"], ["192.0.2.1", "127.0.0.1"]);
    const poster = client({ lookup: dns.lookup, permits: (address) => address === "192.0.2.1", timeoutMs: 50 });
    const url = `https://hooks.test:${inside.port}/`;
    expect(await post(poster, url)).toMatchObject({ kind: "no_answer", connected: false });
    expect(await post(poster, url)).toMatchObject({ kind: "refused_address", address: "127.0.0.1" });
    expect(await post(poster, url)).toMatchObject({ kind: "refused_address", address: "127.0.0.1" });
    expect(inside.connections()).toBe(0);
  });

  test.each([
    "http://8.8.8.8/",
    "https://127.0.0.1/",
    "https://0x7f.1/",
    "https://[::ffff:7f00:1]/",
    "https://localhost/",
    "file:///etc/hostname",
  ])("%s is refused before any look-up", async (url) => {
    const asked: string[] = [];
    const poster = client({ lookup: async (host) => [String(asked.push(host))] });
    expect(await post(poster, url)).toMatchObject({ kind: "refused_address" });
    expect(asked).toEqual([]);
  });
});

describe("the connection goes to the address that was checked", () => {
  test("although the name has another address a moment later", async () => {
    const dns = await stubDns();
    const outside = await receiver({ address: "127.0.0.2" });
    const inside = await receiver({ address: "127.0.0.1", port: outside.port });
    dns.answers("hooks.test", ["127.0.0.2"], ["127.0.0.1"]);
    const poster = client({ allowPrivate: true, lookup: dns.lookup, permits: (address) => address === "127.0.0.2" });
    const url = `http://hooks.test:${outside.port}/`;
    expect(await post(poster, url)).toMatchObject({ kind: "answered", status: 200 });
    expect(dns.questions("hooks.test")).toBe(1);
    // An idle connection to the earlier address is not used: only the addresses of this attempt count.
    expect(await post(poster, url)).toMatchObject({ kind: "refused_address", address: "127.0.0.1" });
    expect(dns.questions("hooks.test")).toBe(2);
    expect([outside.connections(), inside.connections()]).toEqual([1, 0]);
  });

  test("and not to the address of an earlier look-up", async () => {
    const dns = await stubDns();
    const first = await receiver({ address: "127.0.0.2" });
    const second = await receiver({ address: "127.0.0.3", port: first.port });
    dns.answers("hooks.test", ["127.0.0.2"], ["127.0.0.3"]);
    const poster = client({ allowPrivate: true, lookup: dns.lookup });
    for (let count = 0; count < 3; count++) await post(poster, `http://hooks.test:${first.port}/`);
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    expect(second.connections()).toBe(1);
    expect(second.requests[0]?.headers.host).toBe(`hooks.test:${first.port}`);
  });

  test("or to the next address, if that refuses the connection", async () => {
    const dns = await stubDns();
    const alive = await receiver({ address: "127.0.0.3" });
    dns.answers("hooks.test", ["127.0.0.2", "127.0.0.3"]);
    const poster = client({ allowPrivate: true, lookup: dns.lookup });
    expect(await post(poster, `http://hooks.test:${alive.port}/`)).toMatchObject({ kind: "answered", status: 200 });
  });
});

describe("a name", () => {
  test("without addresses, or that does not exist, gives no answer", async () => {
    const dns = await stubDns();
    dns.answers("empty.test", []);
    const poster = client({ lookup: dns.lookup });
    for (const host of ["empty.test", "absent.test"]) {
      const reply = await post(poster, `https://${host}/`);
      expect(reply).toMatchObject({ kind: "no_answer", connected: false });
      expect(reply).toHaveProperty("error", expect.stringContaining(`cannot resolve ${host}`));
    }
  });

  test("is looked up once for attempts at the same time, and again for the next one", async () => {
    const [dns, hook] = [await stubDns(), await receiver()];
    dns.answers("hooks.test", ["127.0.0.1"]);
    const poster = client({ allowPrivate: true, lookup: dns.lookup });
    const url = `http://hooks.test:${hook.port}/`;
    await Promise.all(Array.from({ length: 20 }, () => post(poster, url)));
    expect(dns.questions("hooks.test")).toBe(1);
    await post(poster, url);
    expect(dns.questions("hooks.test")).toBe(2);
    expect(hook.requests).toHaveLength(21);
  });

  test("in the hosts file of this machine is found", async () => {
    expect(await systemLookup("localhost")).toContain("127.0.0.1");
  });
});

describe("over TLS", () => {
  const good = { cert: hooksCertificate, key: hooksKey };
  const resolveHere = async () => ["127.0.0.1"];

  test("a receiver whose certificate has the host's name gets the delivery, on one connection", async () => {
    const hook = await receiver({ tls: good, behaviour: answer(200, {}, "safe") });
    const poster = client({ lookup: resolveHere, permits: () => true });
    const url = `https://hooks.test:${hook.port}/`;
    expect(await post(poster, url)).toMatchObject({ kind: "answered", body: "safe" });
    expect(await post(poster, url)).toMatchObject({ kind: "answered", body: "safe" });
    expect(hook.connections()).toBe(1);
  });

  test("a certificate for an address is valid if the URL has that address", async () => {
    const hook = await receiver({ tls: { cert: addressCertificate, key: hooksKey } });
    const poster = client({ allowPrivate: true });
    expect(await post(poster, hook.url)).toMatchObject({ kind: "answered", status: 200 });
  });

  const rows: [string, ReceiverOptions, string, Partial<WebhookClientOptions>][] = [
    ["of another name", { tls: { cert: otherCertificate, key: otherKey } }, "altnames", {}],
    ["of its address instead of its name", { tls: { cert: addressCertificate, key: hooksKey } }, "altnames", {}],
    ["of an unknown authority", { tls: good }, "certificate", { ca: otherCertificate }],
    ["that has expired", { tls: { cert: expiredCertificate, key: hooksKey } }, "expired", {}],
    ["that it doesn't have", { greeting: "220 mail.test ESMTP\r\n" }, "", {}],
  ];
  test.each(rows)("a receiver with a certificate %s gets no request", async (_, options, error, more) => {
    const hook = await receiver(options);
    const poster = client({ lookup: resolveHere, permits: () => true, ...more });
    const reply = await post(poster, `https://hooks.test:${hook.port}/`);
    expect(reply).toMatchObject({ kind: "no_answer", connected: false });
    expect(reply).toHaveProperty("error", expect.stringContaining(error));
    expect(hook.requests).toEqual([]);
  });
});
