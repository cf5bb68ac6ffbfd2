import { describe, expect, test } from "bun:test";
import { Refusal } from "../../../src/domain/errors.ts";
import {
  endOfBounceSuppression,
  type SuppressedAddress,
  suppressedRecipients,
} from "../../../src/domain/send/suppressed.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const known = (address: string): SuppressedAddress => ({
  id: `sup of ${address}`,
  address,
  reason: "bounce",
  expiresAt: at,
});

describe("of the recipients of a mail", () => {
  test("nobody is out where nobody is suppressed", () => {
    expect(suppressedRecipients(["a@example.com"], []).size).toBe(0);
  });

  test("those are out who are suppressed, in whatever case", () => {
    const out = suppressedRecipients(["A@example.com", "b@example.com"], [known("a@example.com")]);
    expect([...out.keys()]).toEqual(["A@example.com"]);
  });

  test("a tag and dots are part of an address", () => {
    expect(suppressedRecipients(["jane+a@example.com", "j.ane@example.com"], [known("jane@example.com")]).size).toBe(0);
  });

  test("all out is a refusal with the details of the first, and of each where they are several", () => {
    const refusalOf = (...addresses: string[]) => {
      try {
        suppressedRecipients(addresses, addresses.map(known));
      } catch (error) {
        if (error instanceof Refusal) return error;
      }
      throw new Error("It was not refused");
    };
    const details = (address: string) => ({
      suppression_id: `sup of ${address}`,
      reason: "bounce",
      expires_at: at.toISOString(),
    });
    expect(refusalOf("a@example.com").details.extra).toEqual(details("a@example.com"));
    expect(refusalOf("a@example.com", "b@example.com").details.extra).toEqual({
      ...details("a@example.com"),
      recipients: ["a@example.com", "b@example.com"].map((address) => ({ address, ...details(address) })),
    });
  });
});

test("a bounce suppresses for so many days, or for ever", () => {
  expect(endOfBounceSuppression(at, 90)).toEqual(new Date("2026-06-19T10:05:00.000Z"));
  expect(endOfBounceSuppression(at, 0)).toBeNull();
});
