import { describe, expect, test } from "bun:test";
import { Refusal } from "../../src/domain/errors.ts";
import { inFieldOfNewInbox, parseUsername, randomUsername } from "../../src/domain/username.ts";

function refusalOf(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("It was not refused");
}

describe("a username that may be chosen (contract §4)", () => {
  const rows: [string, string, string][] = [
    ["letters", "ada", "ada"],
    ["in lower case, whatever was typed", "Ada.Lovelace", "ada.lovelace"],
    ["without space around", "  ada \t", "ada"],
    ["with dots and hyphens between", "a.b-c.d", "a.b-c.d"],
    ["two hyphens in a row", "a--b", "a--b"],
    ["of digits alone", "123", "123"],
    ["a KELVIN SIGN is stored as the k that it is in lower case", "\u212Aelvin", "kelvin"],
    ["of 30 characters", "a".repeat(30), "a".repeat(30)],
  ];
  test.each(rows)("%s", (_, text, username) => {
    expect(parseUsername(text)).toBe(username);
  });
});

describe("a username that may not", () => {
  const malformed: [string, string][] = [
    ["empty", ""],
    ["two characters", "ab"],
    ["31 characters", "a".repeat(31)],
    ["a dot first", ".ada"],
    ["a hyphen last", "ada-"],
    ["two dots in a row", "a..b"],
    ["a dot before a hyphen", "a.-b"],
    ["a hyphen before a dot", "a-.b"],
    ["a plus, which is for tags", "ada+tag"],
    ["an underscore", "a_b"],
    ["a space within", "a b"],
    ["an address", "ada@inbox.localhost"],
    ["letters beyond ASCII", "adä"],
    ["a NUL", "ada\0"],
    ["a line feed within", "ada\nbob"],
  ];
  test.each(malformed)("%s", (_, text) => {
    expect(refusalOf(() => parseUsername(text)).reason).toBe("invalid_username");
  });

  test("the refusal points at the field as the caller named it", () => {
    expect(refusalOf(() => parseUsername("a", inFieldOfNewInbox("mailboxName"))).details.faults).toMatchObject([
      { pointer: "#/mailboxName" },
    ]);
  });

  const reserved =
    "postmaster abuse hostmaster webmaster security noc mailer-daemon bounce bounces noreply no-reply root admin Admin".split(
      " ",
    );
  test.each(reserved)("%s, which the domain keeps", (name) => {
    expect(refusalOf(() => parseUsername(name)).reason).toBe("address_reserved");
  });
});

describe("a username that is drawn", () => {
  const drawn = Array.from({ length: 3_000 }, () =>
    randomUsername((length) => crypto.getRandomValues(new Uint8Array(length))),
  );

  test("is ten characters that don't look alike, a letter first", () => {
    for (const name of drawn) expect(name).toMatch(/^[a-hjkmnp-z][2-9a-hjkmnp-z]{9}$/);
  });

  test("may be chosen, too", () => {
    for (const name of drawn) expect(parseUsername(name)).toBe(name);
  });

  test("has every character about as often as any other", () => {
    const counts = new Map<string, number>();
    for (const character of drawn.map((name) => name.slice(1)).join(""))
      counts.set(character, (counts.get(character) ?? 0) + 1);
    // 27,000 draws of 31: 871 of each on average, with a deviation of 29.
    expect(counts.size).toBe(31);
    for (const count of counts.values()) expect(Math.abs(count - 871)).toBeLessThan(6 * 29);
  });
});
