import { describe, expect, test } from "bun:test";
import { readConfig } from "../../../src/config.ts";
import { noticeMarks, parseNoticeSource, providerOfHost } from "../../../src/domain/reports/notice-source.ts";
import { settings } from "../../support/relay-notices/signing.ts";

describe("RELAY_NOTICES", () => {
  test.each(Object.entries(settings))("%s is read, and shown without its secret", (provider, setting) => {
    expect(parseNoticeSource(setting)).toMatchObject({ provider });
    expect(readConfig({ RELAY_NOTICES: setting }).relayNotices).toMatchObject({ provider });
  });

  test.each([
    "ses",
    "ses:",
    "ses:arn:aws:sqs:us-east-1:123456789012:a",
    "ses:arn:aws:sns:us-east-1:123456789012:a,",
    "mailgun:short",
    "sendgrid:abc",
    "resend:secret",
    "postmark:user",
    "postmark::password-that-is-long",
    "generic:short",
    "sparkpost:something-that-is-long-enough",
    `sendgrid:${"A".repeat(124)}`,
  ])("%p is refused, and the message does not repeat it", (setting) => {
    const secret = setting.slice(setting.indexOf(":") + 1);
    expect(() => readConfig({ RELAY_NOTICES: setting })).toThrow("RELAY_NOTICES");
    const said = parseNoticeSource(setting);
    if (typeof said === "string" && secret.length > 8) expect(said).not.toContain(secret);
  });
});

test("a mark names the message to those relays that repeat it", () => {
  const id = "msg_01km7xshd0efrsmm0nxk81y60b";
  expect(noticeMarks("sendgrid", id)).toEqual([{ name: "X-SMTPAPI", value: `{"unique_args":{"inboxd":"${id}"}}` }]);
  expect(noticeMarks("postmark", id)).toEqual([{ name: "X-PM-Metadata-inboxd", value: id }]);
  for (const other of ["ses", "mailgun", "resend", "generic", undefined] as const) {
    expect(noticeMarks(other, id)).toEqual([]);
  }
});

test("relays whose bounces never come by mail are recognised by their host", () => {
  expect(providerOfHost("smtp.eu.mailgun.org")).toBe("mailgun");
  expect(providerOfHost("smtp.resend.com")).toBe("resend");
  expect(providerOfHost("email-smtp.us-east-1.amazonaws.com")).toBeUndefined();
  expect(providerOfHost("mailgun.org.example")).toBeUndefined();
});
