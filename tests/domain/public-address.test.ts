import { expect, test } from "bun:test";
import { isPublicAddress } from "../../src/domain/public-address.ts";

const inside =
  "0.0.0.0 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 " +
  "192.0.2.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 " +
  ":: ::1 ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 fe80::1 fe80::1%eth0 fc00::1 fd12::1 " +
  "ff02::1 2001::1 2001:db8::1 2002:7f00:1:: 3fff::1 localhost 127.1 0x7f000001 2130706433 [::1]";
const outside =
  "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.169.0.1 223.255.255.255 2606:4700::1111";

test.each(inside.split(" "))("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([...outside.split(" "), "2001:4860:4860::8888", "2a00:1450::1"])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});
