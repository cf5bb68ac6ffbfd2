import { expect, test } from "bun:test";
import { describeOutbound, parseOutbound } from "../../src/domain/outbound.ts";

const ada = { user: "ada", password: "secret" };

test.each([
  ["direct", { kind: "direct" }, "direct"],
  ["sandbox", { kind: "sandbox" }, "sandbox"],
  [
    "smtp://ada:secret@relay.example",
    { kind: "smtp", host: "relay.example", port: 587, tls: "required", login: ada },
    "smtp://ada:***@relay.example:587",
  ],
  [
    "smtp://relay.example",
    { kind: "smtp", host: "relay.example", port: 25, tls: "required", login: undefined },
    "smtp://relay.example:25",
  ],
  [
    "smtps://ada:secret@Relay.Example/",
    { kind: "smtp", host: "relay.example", port: 465, tls: "implicit", login: ada },
    "smtps://ada:***@relay.example:465",
  ],
  [
    "smtp://127.0.0.1:1025?tls=off",
    { kind: "smtp", host: "127.0.0.1", port: 1025, tls: "off", login: undefined },
    "smtp://127.0.0.1:1025?tls=off",
  ],
  [
    "smtp://[::1]:25?tls=opportunistic",
    { kind: "smtp", host: "::1", port: 25, tls: "opportunistic", login: undefined },
    "smtp://[::1]:25?tls=opportunistic",
  ],
  [
    "smtp://mail_relay:2525?tls=required",
    { kind: "smtp", host: "mail_relay", port: 2525, tls: "required", login: undefined },
    "smtp://mail_relay:2525",
  ],
  [
    "smtp://ada%40example.com:p%3A%2F%3F%23%C3%A9@relay.example:2587",
    {
      kind: "smtp",
      host: "relay.example",
      port: 2587,
      tls: "required",
      login: { user: "ada@example.com", password: "p:/?#é" },
    },
    "smtp://ada%40example.com:***@relay.example:2587",
  ],
] as const)("%s is understood, and shown without its password", (text, outbound, description) => {
  const parsed = parseOutbound(text);
  expect(parsed).toEqual(outbound);
  expect(typeof parsed === "string" ? parsed : describeOutbound(parsed)).toBe(description);
});

test.each([
  ["", "begin with smtp://"],
  ["Direct", "begin with smtp://"],
  ["http://relay.example", "begin with smtp://"],
  ["relay.example:25", "begin with smtp://"],
  ["smtp://", "name a host"],
  ["smtp://ada:sec#ret@relay.example", "percent-encoding"],
  ["smtp://ada:sec%ret@relay.example", "percent-encoding"],
  ["smtp://ada:sec%00ret@relay.example", "NUL"],
  ["smtp://ada@relay.example", "both a user and a password"],
  ["smtp://:secret@relay.example", "both a user and a password"],
  ["smtp://relay.example:0", "port 0"],
  ["smtp://relay.example:99999", "URL"],
  ["smtp://relay.example/inbox", "path or fragment"],
  ["smtp://relay.example#x", "path or fragment"],
  ["smtp://bücher.example", "ASCII"],
  ["smtp://relay.example?tls=maybe", "tls=required"],
  ["smtp://relay.example?starttls=off", "tls=required"],
  ["smtp://relay.example?tls=off&tls=required", "tls=required"],
  ["smtps://relay.example?tls=off", "always TLS"],
  ["smtp://ada:secret@relay.example?tls=opportunistic", "a password with tls=opportunistic"],
])("%p is refused, without repeating what may be a secret", (text, part) => {
  const fault = parseOutbound(text);
  expect(fault).toBeString();
  expect(fault).toContain(part);
  expect(fault).not.toContain("sec");
});
