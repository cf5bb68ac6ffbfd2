import { describe, expect, test } from "bun:test";
import { type ProxyHeader, readProxyHeader } from "../../src/smtp/proxy-header.ts";
import { testListener } from "../support/mail-door.ts";
import { greeted, type RawSmtp, rawSmtp } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";

const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");

/** A header of version 2. `rest` has the addresses, the ports and the details. */
function binary(rest: Uint8Array, { command = 0x21, family = 0x11 } = {}): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt8(command, 0);
  head.writeUInt8(family, 1);
  head.writeUInt16BE(rest.length, 2);
  return Buffer.concat([signature, head, rest]);
}

const v4 = Uint8Array.from([192, 0, 2, 9, 198, 51, 100, 1, 0xc3, 0x50, 0, 25]);
const v6 = Buffer.concat([Buffer.from("20010db8000000000000000000000005", "hex"), Buffer.alloc(16), Buffer.alloc(4)]);
const details = Buffer.concat([v4, Buffer.from([0x20, 0, 3, 1, 0, 0])]);
const line = (text: string) => Buffer.from(`${text}\r\n`);

const client = (address: string): Partial<ProxyHeader> => ({ kind: "client", address });

describe("a PROXY header", () => {
  const rows: [what: string, header: Buffer, expected: Partial<ProxyHeader>][] = [
    ["of an IPv4 client, in version 1", line("PROXY TCP4 192.0.2.9 198.51.100.1 50000 25"), client("192.0.2.9")],
    ["of an IPv6 client, in version 1", line("PROXY TCP6 2001:db8::5 2001:db8::1 50000 25"), client("2001:db8::5")],
    ["of an unknown client, in version 1", line("PROXY UNKNOWN"), { kind: "no_client" }],
    ["of an unknown client with addresses", line("PROXY UNKNOWN ffff::1 ffff::2 1 2"), { kind: "no_client" }],
    ["of an IPv4 client, in version 2", binary(v4), client("192.0.2.9")],
    ["with details behind the addresses", binary(details), client("192.0.2.9")],
    ["of an IPv6 client, in version 2", binary(v6, { family: 0x21 }), client("2001:db8:0:0:0:0:0:5")],
    ["of the proxy itself", binary(new Uint8Array(0), { command: 0x20, family: 0 }), { kind: "no_client" }],
    ["of the proxy itself, with addresses", binary(v4, { command: 0x20 }), { kind: "no_client" }],
    ["of a Unix socket", binary(new Uint8Array(216), { family: 0x31 }), { kind: "no_client" }],
  ];
  test.each(rows)("%s is read", (_what, header, expected) => {
    const behind = Buffer.from("EHLO client.example\r\n");
    expect(readProxyHeader(Buffer.concat([header, behind]))).toEqual({
      ...expected,
      bytes: header.length,
    } as ProxyHeader);
    for (let end = 0; end < header.length; end += 1)
      expect(readProxyHeader(header.subarray(0, end))).toBe("unfinished");
  });

  const wrong: [what: string, bytes: Buffer][] = [
    ["a command", line("EHLO client.example")],
    ["TLS at once", Buffer.from("16030100", "hex")],
    ["the word in lower case", line("proxy TCP4 192.0.2.9 198.51.100.1 50000 25")],
    ["a name instead of an address", line("PROXY TCP4 client.example 198.51.100.1 50000 25")],
    ["an IPv6 address as TCP4", line("PROXY TCP4 2001:db8::5 198.51.100.1 50000 25")],
    ["an address with a zone", line("PROXY TCP6 fe80::1%eth0 2001:db8::1 50000 25")],
    ["an unknown protocol", line("PROXY UDP4 192.0.2.9 198.51.100.1 50000 25")],
    ["a line without ports", line("PROXY TCP4 192.0.2.9 198.51.100.1")],
    ["a line without an end", Buffer.from(`PROXY UNKNOWN ${"x".repeat(200)}`)],
    ["version 3", binary(v4, { command: 0x31 })],
    ["an unknown command", binary(v4, { command: 0x22 })],
    ["addresses that are cut", binary(v4.subarray(0, 11))],
    ["64 KiB of details", binary(new Uint8Array(65_535))],
    ["another signature", Buffer.concat([signature.subarray(0, 11), Buffer.from("x")])],
  ];
  test.each(wrong)("is not %s", (_what, bytes) => {
    expect(readProxyHeader(bytes)).toBe("wrong");
  });
});

const proxy = "127.0.0.9";

function behind(limits: { maxConnectionsPerAddress?: number; firstCommandMs?: number } = {}) {
  return testListener({ proxyProtocol: true, limits: { uncountedAddresses: [proxy], ...limits } });
}

/** A connection of the proxy that begins with these bytes. */
async function proxied(port: number, header: string | Uint8Array): Promise<RawSmtp> {
  const smtp = await rawSmtp(port, "127.0.0.1", proxy);
  smtp.send(header);
  return smtp;
}

const named = (address: string) => `PROXY TCP4 ${address} 127.0.0.1 50000 25\r\n`;
const mail = "MAIL FROM:<jane@example.com>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n";

async function send(smtp: RawSmtp): Promise<void> {
  smtp.send(mail);
  await smtp.replies(3);
  expect(await smtp.ask("x\r\n.")).toStartWith("250");
}

describe("behind a proxy", () => {
  test("the client is the one that the header names, also when all bytes come at once, and after STARTTLS", async () => {
    await using smtp = await behind();
    for (const header of [named("192.0.2.9"), binary(v4), binary(v6, { family: 0x21 })]) {
      const sender = await proxied(
        smtp.port,
        Buffer.concat([Buffer.from(header), Buffer.from("EHLO client.example\r\n")]),
      );
      expect(await sender.reply()).toStartWith("220");
      expect(await sender.reply()).toStartWith("250");
      await send(sender);
      await sender.ask("STARTTLS");
      await sender.secure();
      await sender.ask("EHLO client.example");
      await send(sender);
      sender.destroy();
    }
    const clients = smtp.mails.map(({ envelope }) => envelope.client);
    const plain = { heloName: "client.example", secure: false, isProxy: false };
    const first = { ...plain, address: "192.0.2.9", network: "192.0.2.9" };
    const third = { ...plain, address: "2001:db8::5", network: "2001:db8:0:0::/64" };
    const both = [first, first, third].flatMap((each) => [each, { ...each, secure: true }]);
    expect(clients).toEqual(both);
  });

  test("the proxy's own connections are taken, and marked", async () => {
    await using smtp = await behind();
    for (const header of ["PROXY UNKNOWN\r\n", binary(new Uint8Array(0), { command: 0x20, family: 0 })]) {
      const sender = await proxied(smtp.port, header);
      await sender.reply();
      await sender.ask("EHLO client.example");
      await send(sender);
      sender.destroy();
    }
    expect(smtp.mails.map(({ envelope }) => [envelope.client.address, envelope.client.isProxy])).toEqual([
      [proxy, true],
      [proxy, true],
    ]);
  });

  test("a proxy without the protocol is marked too", async () => {
    await using smtp = await testListener({ limits: { uncountedAddresses: [proxy] } });
    await send(await greeted(smtp.port, proxy));
    expect(smtp.mails[0]?.envelope.client).toMatchObject({ address: proxy, isProxy: true });
  });

  test("connections are counted by the address of the header", async () => {
    await using smtp = await behind({ maxConnectionsPerAddress: 2 });
    const answers: string[] = [];
    for (const address of ["192.0.2.9", "192.0.2.9", "192.0.2.9", "192.0.2.10"]) {
      answers.push((await (await proxied(smtp.port, named(address))).reply()).slice(0, 9));
    }
    expect(answers).toEqual(["220 inbox", "220 inbox", "421 4.7.0", "220 inbox"]);
    expect(smtp.refused).toEqual(["connections_per_address"]);
  });

  test("a wrong header is refused, and counted", async () => {
    await using smtp = await behind();
    for (const bytes of ["EHLO client.example\r\n", "PROXY TCP4 a b 1 2\r\n", binary(new Uint8Array(65_535))]) {
      const sender = await proxied(smtp.port, bytes);
      expect(await sender.reply()).toBe("421 4.3.5 The PROXY header of the proxy is missing or wrong");
      await sender.closed;
    }
    expect(smtp.refused).toEqual(["proxy_header", "proxy_header", "proxy_header"]);
  });

  test("a header that trickles in is cut off", async () => {
    await using smtp = await behind({ firstCommandMs: 200 });
    const sender = await proxied(smtp.port, "P");
    const [...octets] = "ROXY TCP4 192.0.2.9 127.0.0.1 5";
    const timer = setInterval(() => sender.send(octets.shift() ?? "0"), 10);
    expect(await sender.reply()).toStartWith("421 4.3.5");
    clearInterval(timer);
    await sender.closed;
    await until(() => smtp.listener.sessions === 0);
  });

  test("a proxy that looks whether the port is open is no fault", async () => {
    await using smtp = await behind();
    for (const how of ["end", "destroy"] as const) {
      const look = await rawSmtp(smtp.port, "127.0.0.1", proxy);
      await until(() => smtp.listener.sessions === 1);
      look.socket[how]();
      await until(() => smtp.listener.sessions === 0);
    }
    expect([smtp.refused, smtp.faults]).toEqual([[], []]);
  });

  test("1,000 connections without a header hold no other connection up, and end when the listener stops", async () => {
    await using smtp = await behind({ firstCommandMs: 3_600_000 });
    const silent = await Promise.all(Array.from({ length: 1000 }, () => proxied(smtp.port, "PROXY TCP4 ")));
    await until(() => smtp.listener.sessions === 1000);
    expect(await (await proxied(smtp.port, named("192.0.2.9"))).reply()).toStartWith("220");
    await smtp.listener.stop(0);
    await Promise.all(silent.map(({ closed }) => closed));
    await until(() => smtp.listener.sessions === 0);
  });
});

test("a header from anybody else is a syntax error", async () => {
  await using smtp = await behind();
  const stranger = await rawSmtp(smtp.port);
  await stranger.reply();
  expect(await stranger.ask(named("192.0.2.9").trimEnd())).toStartWith("500 5.5.2");
  await stranger.ask("EHLO client.example");
  await send(stranger);
  expect(smtp.mails[0]?.envelope.client.address).toBe("127.0.0.1");

  const binaryStranger = await rawSmtp(smtp.port);
  await binaryStranger.reply();
  binaryStranger.send(binary(v4));
  expect(await binaryStranger.reply()).toStartWith("500 5.5.2");
  await binaryStranger.closed;
  expect(smtp.mails).toHaveLength(1);
});
