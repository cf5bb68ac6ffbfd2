import { describe, expect, test } from "bun:test";
import { type ExtractedFrom, extractionOf } from "../../src/extract/extract.ts";
import { cpuMs } from "../support/cpu.ts";

const message: ExtractedFrom = {
  direction: "inbound",
  subject: "Re: x",
  bodyText: "",
  bodyHtml: null,
  inReplyTo: null,
};
const filled = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);

/** A quadratic rule takes eight times as long for an input as for eight of an eighth of it. */
describe("eight times the input takes about eight times as long", () => {
  const costOf = (fields: Partial<ExtractedFrom>, times: number) => {
    const startMs = cpuMs();
    for (let time = 0; time < times; time += 1) extractionOf({ ...message, ...fields });
    return cpuMs() - startMs;
  };
  /** Some machines count processor time in steps of 4 ms, so less is no measure. */
  const stepMs = 4;
  function isLinear(fieldsOf: (length: number) => Partial<ExtractedFrom>, length: number): void {
    const [small, large] = [fieldsOf(length / 8), fieldsOf(length)];
    let [leastSmall, leastLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let run = 0; run < 6; run += 1) {
      leastLarge = Math.min(leastLarge, costOf(large, 1));
      // This is within the limit for any cost of the small input.
      if (leastLarge < 4 * 2 * stepMs) return;
      leastSmall = Math.min(leastSmall, costOf(small, 8));
    }
    expect(leastLarge).toBeLessThan(4 * Math.max(leastSmall, 2 * stepMs));
  }

  test.each([
    "1",
    "1.",
    "1 ",
    "code ",
    "code 123456\n",
    "@a ",
    "https://",
    "https://e.com/a) ",
    "](https://e.com/",
    "> ",
    "On Nov 21, 2014,\nat 10:18,\nJohn Doe <john@doe.example> wrote:\n",
    "3 Mar 2026 14:05 jane@example.com wrote\n",
    "a@b",
    "a@b:\n",
    "Jane (a@b), x\n1:\n",
    "----- x -----From:\n",
    "Sent from my, ",
  ])("text of nothing but %j", (piece) => isLinear((length) => ({ bodyText: filled(piece, length) }), 64 * 1024));

  test.each([
    ..."<i> <p> <td> <table><td> <li>x <br>1 <b></i> <svg></svg> < </ <!-- &#x31; <b>&#x31; <blockquote>".split(" "),
    "<a ",
    "<a href=https://e.com/x>y",
    "<a href='&amp;&#49;'>",
    "<a href=https://e.com/1><table><td>",
    "<p style='color:red;font-size:0'>x",
    '<a b="',
  ])("HTML of nothing but %j", (piece) => {
    isLinear((length) => ({ bodyText: "x", bodyHtml: filled(piece, length) }), 256 * 1024);
  });

  test.each([
    ["wrote:\n--\n", "<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>"],
    ["x", "<div>From: a</div><div>To: b@c</div><div>Cc: 1</div><div>Date: x</div><div>Bcc: x</div>"],
    [
      "On Tue, 3 Mar 2026 at 14:05, Jane <jane@example.com> wrote:\n",
      "<table><tr><td>x<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>",
    ],
  ])("a mail of nothing but %j and HTML of %j", (text, html) => {
    isLinear((length) => ({ bodyText: filled(text, length / 4), bodyHtml: filled(html, length) }), 256 * 1024);
  });
});

test("a number beyond Unicode is no digit", () => {
  const bodyHtml = "<p>Your code is &#x110031;&#99999999999999999999;4829&#x31;3</p>";
  const { codes } = extractionOf({ ...message, bodyHtml });
  expect(codes.map(({ code }) => code)).toEqual(["482913"]);
});

test("outbound mail has no codes and no links", () => {
  const bodyText = "Your code is 482913: https://example.com/";
  const extraction = { codes: [], links: [], extractedText: bodyText, extractedHtml: null };
  expect(extractionOf({ ...message, direction: "outbound", bodyText })).toEqual(extraction);
});
