import { describe, expect, test } from "bun:test";
import { bounceTypeOf, mostSpecific } from "../../../src/domain/reports/bounce-type.ts";
import { isHarder, outranks, worstOf } from "../../../src/domain/reports/delivery.ts";
import { saidText } from "../../../src/domain/reports/phrases.ts";
import type { BounceType, ReportKind } from "../../../src/domain/reports/report.ts";

const typeOf = (codes: string, code: number | undefined, words: string) =>
  bounceTypeOf({ enhancedCodes: codes.split(" ").filter(Boolean), code, said: saidText(words) });

describe("the type of a bounce", () => {
  type Row = readonly [codes: string, code: number | undefined, words: string, type: BounceType];
  const rows: readonly Row[] = [
    ...["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"].map((code) => [code, 550, "", "hard"] as Row),
    ...["5.7.1", "5.7.26", "5.6.0", "5.3.4", "5.1.7", "5.1.8"].map((code) => [code, 550, "", "block"] as Row),
    ...["4.2.1", "4.4.7", "4.7.1", "5.2.2"].map((code) => [code, undefined, "", "soft"] as Row),
    ...["5.2.1", "5.4.1", "5.0.0", "5.5.0", "5.0.910"].map((code) => [code, 550, "", "unknown"] as Row),
    ["5.2.1", 550, "no such user here", "hard"],
    ["5.4.1", 550, "Recipient address rejected: Access denied", "hard"],
    ["", 550, "", "unknown"],
    ["", 450, "user unknown", "soft"],
    ["", 550, "user unknown", "hard"],
    ["5.0.0", 550, "No Such Mailbox", "hard"],
    ["5.0.0", 554, "user unknown, listed by a blacklist", "block"],
    ["5.0.0", 550, "Sender address rejected: Domain not found", "block"],
    ["5.1.1", 550, "rejected: SPF check failed", "block"],
    ["5.1.1", 550, "mailbox over quota", "soft"],
    ["5.0.0", 550, "delivery time expired: host not found", "soft"],
    ["5.1.1", 550, "host spam.policy.example.com said: user unknown", "hard"],
    ["5.1.1", 550, "user unknown, see https://mail.example/spam-policy", "hard"],
    ["5.7.1", 550, "No such user!", "hard"],
    ["5.7.1", 550, "user unknown", "hard"],
    ["5.7.1", 550, "user unknown, rejected by policy", "block"],
    ["5.7.1", 550, "Sender address rejected: user unknown", "block"],
    ["5.7.1", 550, "domain not found", "block"],
    ["5.7.1", 450, "user unknown, try again later", "block"],
    ["5.7.0", 550, "jane@example.com is over quota", "soft"],
    ["5.7.1", 554, "message rate limit: sending quota exceeded", "block"],
    ["5.3.4", 552, "mailbox is full", "soft"],
    ["5.1.1", 550, "recipient hat zuviele Mails", "soft"],
    ["5.7.1", 550, "Empfänger hat zu viele Mails", "soft"],
    ["5.7.1", 552, "the account exceeded its disk space limit", "soft"],
    ["5.6.0", 554, "mail box space not enough, space limit : 1024", "soft"],
    ["", 550, "Requested action not taken: mailbox unavailable", "unknown"],
    ...["5.0.0", "5.1.1", "5.2.1", "5.5.0", "5.7.1"].map(
      (code) => [code, 550, "Requested action not taken: mailbox unavailable", "unknown"] as Row,
    ),
    ["4.2.1", 450, "Requested action not taken: mailbox unavailable", "soft"],
    ["5.5.0", 550, "mailbox unavailable: user unknown", "hard"],
    ["5.7.1", 550, "mailbox unavailable, blocked by spamhaus", "block"],
    ["5.4.4", undefined, "", "soft"],
    ["5.4.4", undefined, "Host or domain name not found", "hard"],
    ["5.4.4", undefined, "Name service error for name=example.com: Host not found", "hard"],
    ["5.4.4", undefined, "Name service error for name=example.com: Host not found, try again", "soft"],
    ["", 554, "Name service error for name=example.com type=MX: Host not found, try again", "soft"],
    ["5.4.4", undefined, "unable to route: no such domain", "hard"],
    ["5.4.3", undefined, "directory server failure", "soft"],
    ["5.4.0", undefined, "lookup of example.com: server failure", "soft"],
    ["5.1.2", undefined, "temporary failure in name resolution", "soft"],
    ["5.2.0", 550, "From: Domain is invalid. Please give a valid From:", "block"],
    ["5.1.1", 550, "refused due to recipient preferences", "block"],
    ["", 554, "Host network not allowed", "block"],
    ["", undefined, "Mail size limit exceeded", "block"],
    ["", undefined, "Mailbox size limit exceeded", "soft"],
    ["", 550, "not listed in public directory, user unknown", "hard"],
    ["", 550, "your host is listed in the XBL, user unknown", "block"],
    ["", undefined, "address not found, check it and try again", "hard"],
    ["", undefined, "no se ha encontrado la dirección, vuelve a intentarlo", "hard"],
    ["", undefined, "indirizzo non trovato, controlla e riprova", "hard"],
    ["", undefined, "adresse introuvable, veuillez vérifier et réessayer", "hard"],
    ["", undefined, "address not found just now, we will try again", "soft"],
    ["", undefined, "gave up, aborted after three hours: host not found", "soft"],
    ["4.0.0", undefined, "lookup of the MX of gone.example ended in NXDOMAIN", "hard"],
    ["4.0.0", undefined, "the domain gone.example returned a Null MX", "hard"],
    ["4.0.0", 550, "user unknown", "hard"],
    ["4.0.0", 451, "user unknown", "soft"],
    ["4.0.0", undefined, "domain not found: connection timed out", "soft"],
    ["4.0.0", undefined, "rejected as spam", "soft"],
    ["4.0.0", undefined, "", "soft"],
    ["4.4.3", undefined, "domain not found", "soft"],
    ["5.4.4", undefined, "domain not found: the answer was an unexpected name server reply", "soft"],
    ["5.4.6", 554, "too many hops", "unknown"],
    ["5.1.3", 553, "https://www.spamhaus.org/query/ip/192.0.2.9", "block"],
    ["5.1.1", 550, "192.0.2.9 stands in zen.spamhaus.org.", "block"],
    ["5.1.1", 550, "the page of https://notspamhaus.org and of spamhaus.org.example", "hard"],
  ];
  test.each(rows)("%s %p %p is %s", (codes, code, words, type) => {
    expect(typeOf(codes, code, words)).toBe(type);
  });

  test("is that of the most specific code, or of the first of two equally specific ones", () => {
    expect(mostSpecific(["5.0.0", "5.1.0", "5.1.1"])).toBe("5.1.1");
    expect(mostSpecific(["5.5.0", "5.0.0"])).toBe("5.5.0");
    expect(mostSpecific(["5.2.2", "5.1.1"])).toBe("5.2.2");
    expect(mostSpecific([])).toBeUndefined();
  });

  test("comes from phrases at the begin of a word, with a gap of a few words at most", () => {
    expect(typeOf("", 550, "superuser unknown")).toBe("unknown");
    expect(typeOf("", 550, "user jane at example does not exist")).toBe("hard");
    expect(typeOf("", 550, `user ${"word ".repeat(40)} does not exist`)).toBe("unknown");
  });
});

describe("the state of a mail", () => {
  const kinds: ReportKind[] = ["delayed", "delivered", "bounced", "complained"];

  test("is the highest that was reported, in any order", () => {
    const ends = kinds.flatMap((one) => kinds.map((other) => (outranks(other, one) ? other : one)));
    const highest = kinds.flatMap((_, one) => kinds.map((__, other) => kinds[Math.max(one, other)]));
    expect(ends).toEqual(highest as ReportKind[]);
    expect(outranks("delayed", undefined)).toBe(true);
  });

  test("is the worst among several recipients, by the harder type for two bounces", () => {
    const told = [
      { kind: "delivered", type: undefined },
      { kind: "bounced", type: "soft" },
      { kind: "bounced", type: "hard" },
      { kind: undefined, type: undefined },
    ] as const;
    expect(worstOf(told)).toBe(told[2]);
    expect(worstOf([])).toBeUndefined();
    expect(isHarder("hard", "block")).toBe(true);
    expect(isHarder("unknown", "soft")).toBe(false);
  });
});
