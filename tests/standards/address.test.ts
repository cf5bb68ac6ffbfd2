import { describe, expect, test } from "bun:test";
import { inboxAddress, parseSendAddress, recipientOf, splitAddress, usernameAt } from "../../src/standards/address.ts";

describe("an address to send to", () => {
  test.each([
    ["a plain one", "jane@example.com", "jane@example.com"],
    ["the domain is in lower case, the local part as given", "Jane.Doe@Example.COM", "Jane.Doe@example.com"],
    ["a tag", "jane+inboxd@example.com", "jane+inboxd@example.com"],
    ["every character of a dot-atom", "a!#$%&'*+/=?^_`{|}~-z@example.com", "a!#$%&'*+/=?^_`{|}~-z@example.com"],
    ["an international domain becomes its A-label", "jane@bücher.example", "jane@xn--bcher-kva.example"],
    ["an A-label stays", "jane@xn--bcher-kva.example", "jane@xn--bcher-kva.example"],
    ["a local part of 64", `${"a".repeat(64)}@example.com`, `${"a".repeat(64)}@example.com`],
    ["a label of 63", `a@${"b".repeat(63)}.example`, `a@${"b".repeat(63)}.example`],
  ])("%s", (_what, text, address) => expect(parseSendAddress(text)).toBe(address));

  test.each([
    ["no @", "jane"],
    ["no local part", "@example.com"],
    ["no domain", "jane@"],
    ["nothing", ""],
    ["a display name", "Jane <jane@example.com>"],
    ["brackets", "<jane@example.com>"],
    ["two addresses", "jane@example.com,bob@example.com"],
    ["two @", "jane@home@example.com"],
    ["a quoted local part", '"jane doe"@example.com'],
    ["an address literal", "jane@[127.0.0.1]"],
    ["an address of digits", "jane@127.0.0.1"],
    ["an IPv6 literal", "jane@[IPv6:::1]"],
    ["a domain without a dot", "jane@localhost"],
    ["a trailing dot", "jane@example.com."],
    ["two dots in the domain", "jane@example..com"],
    ["a dot at the start of the local part", ".jane@example.com"],
    ["two dots in the local part", "jane..doe@example.com"],
    ["a space", "jane doe@example.com"],
    ["a space around", " jane@example.com"],
    ["CR LF", "jane@example.com\r\nBcc: eve@example.com"],
    ["LF in the local part", "jane\n@example.com"],
    ["NUL", "jane\0@example.com"],
    ["a Unicode line break", "jane\u2028@example.com"],
    ["one in the domain", "jane@exa\u2028mple.com"],
    ["a local part outside ASCII", "jäne@example.com"],
    ["a local part of 65", `${"a".repeat(65)}@example.com`],
    ["a label of 64", `a@${"b".repeat(64)}.example`],
    ["255 octets", `${"a".repeat(64)}@${"b.".repeat(91)}example.com`.replace("b.", "bb.")],
    ["255 octets once it is an A-label", `a@${"ü.".repeat(60)}example`],
    ["an underscore in the domain", "jane@exa_mple.com"],
    ["a hyphen at the end of a label", "jane@example-.com"],
    ["a percent code in the domain", "jane@ex%61mple.bücher"],
    ["a port", "jane@bücher.example:25"],
    ["a path", "jane@bücher.example/x"],
    ["an A-label that is none", "jane@xn--a.example"],
    ["a lone surrogate", "jane@exa\ud800mple.com"],
  ])("%s is refused", (_what, text) => expect(parseSendAddress(text)).toBeUndefined());

  test("our own domain needs no dot", () => {
    expect(parseSendAddress("ada@localhost", "localhost")).toBe("ada@localhost");
    expect(parseSendAddress("ada@otherhost", "localhost")).toBeUndefined();
  });

  test("254 octets are the most", () => {
    const longest = `${"a".repeat(64)}@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}`;
    expect(longest.length).toBe(254);
    expect(parseSendAddress(longest)).toBe(longest);
    expect(parseSendAddress(`${longest}d`)).toBeUndefined();
  });
});

describe("an address is split at its last @", () => {
  test.each([
    ["jane@example.com", { local: "jane", domain: "example.com" }],
    ['"x@y"@example.com', { local: '"x@y"', domain: "example.com" }],
    ["jane", undefined],
    ["@example.com", undefined],
    ["jane@", undefined],
  ])("%p", (address, parts) => expect(splitAddress(address)).toEqual(parts));
});

describe("the recipient that an address names", () => {
  const inbox = (username: string) => ({ kind: "inbox" as const, username });
  const role = (name: "postmaster" | "abuse") => ({ kind: "role" as const, name });
  const other = { kind: "other_domain" as const };
  const unknown = { kind: "unknown" as const };

  test.each([
    ["an inbox", "ada@inbox.localhost", inbox("ada")],
    ["case doesn't count", "ADA@Inbox.LOCALHOST", inbox("ada")],
    ["nor does a tag", "ada+news+2@inbox.localhost", inbox("ada")],
    ["quotes around a plain name say nothing", '"ada"@inbox.localhost', inbox("ada")],
    ["postmaster", "Postmaster@inbox.localhost", role("postmaster")],
    ["postmaster needs no domain (RFC 5321 §4.5.1)", "postmaster", role("postmaster")],
    ["abuse", "abuse@inbox.localhost", role("abuse")],
    ["abuse needs one", "abuse", unknown],
    ["another domain", "ada@example.com", other],
    ["a domain below ours", "ada@x.inbox.localhost", other],
    ["a domain that ends like ours", "ada@evilinbox.localhost", other],
    ["a trailing dot", "ada@inbox.localhost.", other],
    ["our domain as text of an address literal", "ada@[inbox.localhost]", other],
    ["an address literal", "ada@[127.0.0.1]", other],
    ["no domain", "ada", unknown],
    ["no local part", "@inbox.localhost", unknown],
    ["a tag alone", "+tag@inbox.localhost", unknown],
    ["percent", "ada%example.com@inbox.localhost", unknown],
    ["percent to another domain", "ada%inbox.localhost@example.com", other],
    ["bang", "example.com!ada@inbox.localhost", unknown],
    ["bang to us", "inbox.localhost!ada@example.com", other],
    ["bang alone", "inbox.localhost!ada", unknown],
    ["a source route through us", "@inbox.localhost:ada@example.com", other],
    ["a source route to us", "@example.com:ada@inbox.localhost", unknown],
    ["an address in quotes", '"ada@example.com"@inbox.localhost', unknown],
    ["an address in quotes elsewhere", '"ada@inbox.localhost"@example.com', other],
    ["percent in quotes", '"ada%example.com"@inbox.localhost', unknown],
    ["two @", "ada@example.com@inbox.localhost", unknown],
    ["two @ the other way", "ada@inbox.localhost@example.com", other],
    ["a colon", "ada:example.com@inbox.localhost", unknown],
    ["a space", "ada @inbox.localhost", unknown],
    ["NUL", "ada\0@inbox.localhost", unknown],
    ["a line break", "ada@inbox.localhost\n", other],
    ["another letter that only looks like ours", "\u212aay@inbox.localhost", unknown],
    ["brackets left on", "<ada@inbox.localhost>", other],
    ["the empty path", "", unknown],
  ])("%s: %p", (_what, address, recipient) => expect(recipientOf(address, "inbox.localhost")).toEqual(recipient));

  test("our international domain may be written as U-label", () => {
    expect(recipientOf("ada@bücher.example", "xn--bcher-kva.example")).toEqual(inbox("ada"));
  });
});

describe("the username of an address", () => {
  test.each([
    ["a local part at our domain", "ada@inbox.localhost", "ada"],
    ["a whole address elsewhere", "ada@example.com", "ada@example.com"],
    ["without case, tag and quotes", '"Ada+news"@Example.COM', "ada@example.com"],
    ["an international domain", "ada@b\u00fccher.example", "ada@xn--bcher-kva.example"],
    ["one character", "a@example.com", "a@example.com"],
    ["64 of all characters", `${"a_-.".repeat(15)}abcd@example.com`, `${"a_-.".repeat(15)}abcd@example.com`],
    ["a name that is reserved at our domain", "postmaster@example.com", "postmaster@example.com"],
    ["65 characters", `${"a".repeat(65)}@example.com`, undefined],
    ["two dots", "a..b@example.com", undefined],
    ["a mark at the start", "_a@example.com", undefined],
    ["a mark at the end", "a-@example.com", undefined],
    ["an address in quotes", '"ada@inbox.localhost"@example.com', undefined],
    ["a tag alone", "+tag@example.com", undefined],
    ["a domain that is none", "ada@[127.0.0.1]", undefined],
    ["postmaster at our domain", "postmaster@inbox.localhost", undefined],
  ])("%s", (_what, address, username) => expect(usernameAt(address, "inbox.localhost")).toBe(username));

  test("makes the address again", () => {
    expect(inboxAddress("ada", "inbox.localhost")).toBe("ada@inbox.localhost");
    expect(inboxAddress("ada@example.com", "inbox.localhost")).toBe("ada@example.com");
  });
});
