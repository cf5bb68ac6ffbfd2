import { describe, expect, test } from "bun:test";
import { isIpAddress, isPublicAddress, originOf } from "../../src/standards/ip.ts";

const publicAddresses = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "44.37.112.180",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "168.63.129.15",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "191.255.255.255",
  "192.0.1.0",
  "192.0.3.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "203.0.112.255",
  "203.0.114.0",
  "223.255.255.255",
  "2000::",
  "2001:200::",
  "2001:db7::",
  "2001:db9::",
  "2003::1",
  "2606:4700:4700::1111",
  "2606:4700:4700:0:0:0:0:1111",
  "2A00:1450:4001:80B::200E",
  "2600::1.2.3.4",
  "3ffd::1",
  "3fff:1000::",
];

/** Addresses by reason, so that a failure names it. */
const others: Record<string, string[]> = {
  "this network": ["0.0.0.0", "0.0.0.1", "0.255.255.255"],
  private: ["10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"],
  "carrier-grade NAT": ["100.64.0.0", "100.127.255.255"],
  loopback: ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "0:0:0:0:0:0:0:1"],
  "link-local": [
    "169.254.0.0",
    "169.254.255.255",
    "fe80::",
    "fe80::1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fe80::1%eth0",
  ],
  metadata: ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"],
  "protocol assignments": ["192.0.0.0", "192.0.0.8", "192.0.0.170", "192.0.0.255", "2001:1::1", "2001:1ff:ffff::"],
  documentation: [
    "192.0.2.0",
    "192.0.2.255",
    "198.51.100.1",
    "203.0.113.255",
    "2001:db8::1",
    "2001:db8:ffff::",
    "3fff::1",
    "3fff:fff::",
  ],
  "anycast services": ["192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.1", "2620:4f:8000::1"],
  benchmarking: ["198.18.0.0", "198.19.255.255", "2001:2::1"],
  multicast: ["224.0.0.0", "226.84.185.150", "239.255.255.255", "ff00::", "ff02::1"],
  reserved: ["240.0.0.0", "255.0.0.0", "255.255.255.254", "100::", "100::1:eabc:0:2", "5f00::1", "99::", "fb00::"],
  broadcast: ["255.255.255.255"],
  unspecified: ["::", "0:0:0:0:0:0:0:0"],
  "v4-mapped": ["::ffff:0.0.0.0", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:10.0.0.1", "::FFFF:8.8.8.8"],
  "v4-compatible": ["::127.0.0.1", "::7f00:1", "::8.8.8.8", "::ffff:0:127.0.0.1"],
  NAT64: ["64:ff9b::127.0.0.1", "64:ff9b::16.10.11.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "64:ff9b::255.255.255.255"],
  "6to4": ["2002::", "2002:7f00:1::", "2002:808:808::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  Teredo: ["2001::", "2001:0:7f00:1::", "2001::ffff:ffff:ffff:ffff:ffff:ffff"],
  ORCHID: ["2001:10::", "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff"],
  "unique local": ["fc00::", "fc00::1", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  "site-local": ["fec0::", "fec0::1", "feff::1"],
  "another spelling": [
    "0000.0000.0000.0000",
    "0000.0000",
    "10.0.0.01",
    "10.0.0.001",
    "127.1",
    "127.0.1",
    "127.000.000.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "08.8.8.8",
    "8.8.8",
    "8.8.8.8.",
    " 8.8.8.8",
    "8.8.8.8\n",
    "٨.٨.٨.٨",
    "8。8。8。8",
    "[2606:4700::1]",
    "2606:4700::1%1",
    "2606:4700::00001",
    "2606:4700::1/64",
  ],
  "no address": [
    "",
    ":",
    ":::",
    "1.2.3",
    "256.1.1.1",
    "1.2.3.4.5",
    "-1.2.3.4",
    "1..2.3",
    "100::ffff::",
    "::ffff:0.0.255.255.255",
    "2606:4700:1:2:3:4:5:6:7",
    "2606:4700:1:2:3:4:5",
    "2606:4700:1:2:3:4:5:6::",
    "::1.2.3.4:5",
    "2606::g",
    "example.com",
  ],
};

test.each(publicAddresses)("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

for (const [reason, addresses] of Object.entries(others)) {
  describe(`not public: ${reason}`, () => {
    test.each(addresses)("%p", (address) => {
      expect(isPublicAddress(address)).toBe(false);
    });
  });
}

test("only the usual spelling is an address at all", () => {
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "fe80::1", "1:2:3:4:5:6:7::"]) {
    expect(isIpAddress(address)).toBe(true);
  }
  for (const text of [...(others["another spelling"] ?? []), ...(others["no address"] ?? [])]) {
    expect(isIpAddress(text)).toBe(false);
  }
});

describe("a client's origin", () => {
  const rows: [address: string, host: string, network: string, site: string | undefined][] = [
    ["192.0.2.7", "192.0.2.7", "192.0.2.7", undefined],
    ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7", undefined],
    ["::FFFF:c000:207", "192.0.2.7", "192.0.2.7", undefined],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2:0:0:0:9", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["2001:db8::1", "2001:db8:0:0:0:0:0:1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
    ["fe80::1%eth0", "fe80:0:0:0:0:0:0:1", "fe80:0:0:0::/64", "fe80:0:0::/48"],
    ["::1", "0:0:0:0:0:0:0:1", "0:0:0:0::/64", "0:0:0::/48"],
    ["not an address", "not an address", "not an address", undefined],
  ];
  test.each(rows)("%s", (address, host, network, site) => {
    expect(originOf(address)).toEqual({ host, network, site });
  });
});
