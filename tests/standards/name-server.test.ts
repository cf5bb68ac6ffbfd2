import { expect, test } from "bun:test";
import { describeNameServer, parseNameServer } from "../../src/standards/name-server.ts";

const right: readonly [text: string, address: string, port: number, shown?: string][] = [
  ["192.0.2.1", "192.0.2.1", 53],
  ["192.0.2.1:5353", "192.0.2.1", 5353],
  ["192.0.2.1:53", "192.0.2.1", 53, "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1", 53, "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1", 53, "2001:db8::1"],
  ["[2001:db8::1]:5353", "2001:db8::1", 5353],
  ["fe80::1%eth0", "fe80::1%eth0", 53],
  ["[fe80::1%eth0]:5353", "fe80::1%eth0", 5353],
];

test.each(right)("%s is a name server", (text, address, port, shown = text) => {
  const server = parseNameServer(text);
  expect(server).toEqual({ address, port });
  expect(server && describeNameServer(server)).toBe(shown);
});

test.each([
  [""],
  ["dns.works"],
  ["192.0.2"],
  ["192.0.2.1:0"],
  ["192.0.2.1:65536"],
  ["192.0.2.1:"],
  ["192.0.2.1 :53"],
  ["[192.0.2.1]:53"],
  ["[2001:db8::1"],
  ["[2001:db8::1]5353"],
  ["2001:db8::1%eth0"],
  ["fe80::1%"],
  ["fe80::1%a b"],
  ["192.0.2.1%eth0"],
  ["[]:53"],
])("%p is none", (text) => {
  expect(parseNameServer(text)).toBeUndefined();
});
