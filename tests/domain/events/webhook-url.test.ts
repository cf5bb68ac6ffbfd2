import { describe, expect, test } from "bun:test";
import { checkWebhookUrl, hostOf, portOf } from "../../../src/domain/events/webhook-url.ts";

const longest = `https://example.com/${"a".repeat(2048 - 20)}`;

describe("a webhook may go to", () => {
  const rows: [string, string][] = [
    ["https://example.com/hook", "https://example.com/hook"],
    ["https://example.com", "https://example.com/"],
    ["https://example.com:8443/a?b=c&d=%20", "https://example.com:8443/a?b=c&d=%20"],
    ["https://example.com:443/", "https://example.com/"],
    ["HTTPS://EXAMPLE.com/Hook", "https://example.com/Hook"],
    ["https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"],
    ["https://8.8.8.8/", "https://8.8.8.8/"],
    ["https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"],
    ["https://localhost.example.com/", "https://localhost.example.com/"],
    [longest, longest],
  ];
  test.each(rows)("%s", (text, href) => {
    const url = checkWebhookUrl(text, { allowPrivate: false });
    expect(url).toBeInstanceOf(URL);
    expect(String(url)).toBe(href);
  });
});

describe("a webhook may not go to", () => {
  const rows: [string, string | RegExp][] = [
    ["", "must be an absolute URL"],
    ["example.com/hook", "must be an absolute URL"],
    ["//example.com/hook", "must be an absolute URL"],
    ["https://", "must be an absolute URL"],
    ["https://a..b^/", "must be an absolute URL"],
    ["https://example.com:65536/", "must be an absolute URL"],
    ["http://example.com/", "must start with https://"],
    ["file:///etc/hostname", "must start with https://"],
    ["data:text/plain,hi", "must start with https://"],
    ["ftp://example.com/", "must start with https://"],
    ["gopher://example.com:25/", "must start with https://"],
    ["javascript:alert(1)", "must start with https://"],
    ["blob:https://example.com/1", "must start with https://"],
    ["unix:/run/docker.sock", "must start with https://"],
    ["https://user@example.com/", "must not have a user name or password"],
    ["https://:password@example.com/", "must not have a user name or password"],
    ["https://8.8.8.8@127.0.0.1/", "must not have a user name or password"],
    ["https://example.com/#part", "must not have a fragment"],
    ["https://example.com/#", "must not have a fragment"],
    ["https://example.com/ a", /white space/],
    [" https://example.com/", /white space/],
    ["https://example.com/\r\nX: y", /white space/],
    ["https://exam\tple.com/", /white space/],
    ["https:\\\\example.com\\", /backslashes/],
    ["https://example.com/\u0000", /control/],
    ["https://example.com:25/", /port 25/],
    ["https://example.com:0/", /port 0/],
    ["https://example.com:6667/", /port 6667/],
    [`${longest}a`, /at most 2048/],
    [`https://example.com/${"ü".repeat(1000)}`, /at most 2048/],
    ["https://localhost/", /not a public name/],
    ["https://LOCALHOST:3000/", /not a public name/],
    ["https://localhost./", /not a public name/],
    ["https://app.localhost/", /not a public name/],
    ["https://printer.local/", /not a public name/],
    ["https://metadata.google.internal/", /not a public name/],
    ["https://router.home.arpa/", /not a public name/],
    ["https://intranet/", /not a public name/],
    ["https://127.0.0.1/", /127\.0\.0\.1, which is not a public address/],
    ["https://127.1/", /127\.0\.0\.1/],
    ["https://2130706433/", /127\.0\.0\.1/],
    ["https://0x7f000001/", /127\.0\.0\.1/],
    ["https://0x7f.1/", /127\.0\.0\.1/],
    ["https://0177.0.0.1/", /127\.0\.0\.1/],
    ["https://017700000001/", /127\.0\.0\.1/],
    ["https://127.0.0.01/", /127\.0\.0\.1/],
    ["https://１２７.0.0.1/", /127\.0\.0\.1/],
    ["https://127。0。0。1/", /127\.0\.0\.1/],
    ["https://%31%32%37.0.0.1/", /127\.0\.0\.1/],
    ["https://127.0.0.1./", /127\.0\.0\.1/],
    ["https://0/", /0\.0\.0\.0/],
    ["https://10.0.0.1/", /10\.0\.0\.1/],
    ["https://169.254.169.254/latest/meta-data/", /169\.254\.169\.254/],
    ["https://[::1]/", /not a public address/],
    ["https://[::]/", /not a public address/],
    ["https://[::ffff:127.0.0.1]/", /not a public address/],
    ["https://[::ffff:8.8.8.8]/", /not a public address/],
    ["https://[64:ff9b::7f00:1]/", /not a public address/],
    ["https://[fd00:ec2::254]/", /not a public address/],
  ];
  test.each(rows)("%p", (text, fault) => {
    const found = checkWebhookUrl(text, { allowPrivate: false });
    expect(found).toBeString();
    if (typeof fault === "string") expect(found).toBe(fault);
    else expect(found).toMatch(fault);
  });
});

describe("in development", () => {
  test.each([
    "http://localhost:3000/hook",
    "http://127.0.0.1:8080/",
    "http://app/",
    "https://[::1]/",
    "http://example.com/",
  ])("a webhook may go to %s", (text) => {
    expect(checkWebhookUrl(text, { allowPrivate: true })).toBeInstanceOf(URL);
  });

  test.each([
    "file:///etc/hostname",
    "http://user@localhost/",
    "http://localhost:25/",
    "http://localhost/#a",
    "data:,",
  ])("it still may not go to %s", (text) => {
    expect(checkWebhookUrl(text, { allowPrivate: true })).toBeString();
  });
});

test("the host and port of a URL are those that a socket needs", () => {
  expect(hostOf(new URL("https://[2606:4700::1]:8443/"))).toBe("2606:4700::1");
  expect(hostOf(new URL("https://example.com./"))).toBe("example.com");
  expect(portOf(new URL("https://example.com/"))).toBe(443);
  expect(portOf(new URL("http://example.com/"))).toBe(80);
  expect(portOf(new URL("http://example.com:81/"))).toBe(81);
});
