import { expect, test } from "bun:test";
import { parseDomainName } from "../../../src/domain/domains/domain-name.ts";
import { Refusal } from "../../../src/domain/errors.ts";

const service = { mailDomain: "inbox.mail.example", smtpHostname: "mx.mail.example" };

/** The name, or the code of its refusal. */
function parsed(text: string, isSandbox = false): string {
  try {
    return parseDomainName(text, { ...service, isSandbox });
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
}

const long = `${"a".repeat(63)}.`.repeat(3);

test.each([
  ["Example.COM", "example.com"],
  ["  mail.example.com. ", "mail.example.com"],
  ["münchen.example.com", "xn--mnchen-3ya.example.com"],
  ["例え.jp", "xn--r8jz45g.jp"],
  [`${long}example.com`, "a".repeat(63).concat(".", "a".repeat(63), ".", "a".repeat(63), ".example.com")],
  [`${long}${"a".repeat(30)}.com`, "invalid_domain"],
  ["localhost", "invalid_domain"],
  ["com", "invalid_domain"],
  ["", "invalid_domain"],
  ["exa mple.com", "invalid_domain"],
  ["a..example.com", "invalid_domain"],
  ["-a.example.com", "invalid_domain"],
  ["a_b.example.com", "invalid_domain"],
  [`${"a".repeat(64)}.example.com`, "invalid_domain"],
  ["192.0.2.1", "invalid_domain"],
  ["0x7f.1", "invalid_domain"],
  ["[2001:db8::1]", "invalid_domain"],
  ["example.com/path", "invalid_domain"],
  ["ada@example.com", "invalid_domain"],
  ["printer.local", "invalid_domain"],
  ["db.internal", "invalid_domain"],
  ["site.onion", "invalid_domain"],
  ["1.2.0.192.in-addr.arpa", "invalid_domain"],
  ["shop.test", "invalid_domain"],
  ["shop.localhost", "invalid_domain"],
  ["shop.example", "invalid_domain"],
])("%j is %s", (text, name) => {
  expect(parsed(text)).toBe(name);
});

test.each([
  ["shop.test", "shop.test"],
  ["shop.example", "shop.example"],
  ["printer.local", "invalid_domain"],
  ["inbox.mail.example", "domain_reserved"],
  ["ada.inbox.mail.example", "domain_reserved"],
  ["MX.mail.example", "domain_reserved"],
  ["mail.example", "mail.example"],
  ["notinbox.mail.example", "notinbox.mail.example"],
])("in the sandbox %j is %s", (text, name) => {
  expect(parsed(text, true)).toBe(name);
});
