import { expect, test } from "bun:test";
import { isHostName } from "../../src/standards/host-name.ts";

const label63 = "a".repeat(63);

const rows: [what: string, name: string, isOne: boolean][] = [
  ["a name", "mail.example.com", true],
  ["a single label", "localhost", true],
  ["digits and hyphens within", "3.a--b.x-1", true],
  ["a label of 63 octets", `${label63}.example`, true],
  ["253 octets", `${`${label63}.`.repeat(3)}${"a".repeat(61)}`, true],
  ["254 octets", `${`${label63}.`.repeat(3)}${"a".repeat(62)}`, false],
  ["a label of 64 octets", `${label63}a.example`, false],
  ["a hyphen at the beginning of a label", "mail.-example.com", false],
  ["a hyphen at the end of a label", "mail-.example.com", false],
  ["an empty label", "mail..example.com", false],
  ["a dot at the end", "example.com.", false],
  ["an underscore", "_dmarc.example.com", false],
  ["capitals", "Example.com", false],
  ["letters that are not ASCII", "bücher.example", false],
  ["a line behind it", "example.com\n", false],
  ["nothing", "", false],
];

test.each(rows)("%s: %p", (_what, name, isOne) => {
  expect(isHostName(name)).toBe(isOne);
});
