import { describe, expect, test } from "bun:test";

import { newContentOf } from "../../src/extract/extract.ts";
import { excessMsOf } from "../support/extraction-cost.ts";

const filled = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
const text = (piece: string) => filled(piece, 64 * 1024);
const html = (piece: string) => filled(piece, 256 * 1024);

const attribution = "On Tue, 3 Mar 2026 at 14:05, Jane <jane@example.com> wrote:\n";
const line = "<div>On Tue, 3 Mar 2026 at 14:05, Jane &lt;jane@example.com&gt; wrote:</div>";

const texts: readonly [why: string, text: string][] = [
  [
    "attributions sixteen deep",
    Array.from({ length: 16 }, (_, depth) => `${">".repeat(depth)} ${attribution}`).join(""),
  ],
  ...["1", "1.", ">", ">\n", "On ", "On \n", "On :\n", "On 1 wrote:\n", "From:", "From:\n", "From: a\nSent: b\n"].map(
    (piece): [string, string] => [`much of ${JSON.stringify(piece)}`, text(piece)],
  ),
  ...["a:\n", "a@b:\n", "-- \n", "--forward\n", "----------\n", "\n", " \n", "\u200e", "> a\nb\n", "在 2026：\n"].map(
    (piece): [string, string] => [`much of ${JSON.stringify(piece)}`, text(piece)],
  ),
  ["attributions", text(attribution)],
  ["attributions that don't end so", text(attribution.replace(":\n", " x:\n"))],
  ["verbs", text(`x 3 Mar ${"wrote ".repeat(35)}wrotex:\n`)],
  ["verbs and dashes", text("wrote:\n--\n")],
  ["heads of two languages", text("De: a@b\nData: b\nA: 1\nKopie: x\nBetreff: x\n")],
  ["footers of lists", text(`${"_".repeat(30)}\nmailing list\n`)],
  ["lines of devices", text("> a\nSent from my iPhone\n")],
  ["clauses of a device's line", text(`Sent from ${"my, ".repeat(30)}\n`)],
  ["attributions over three lines", text("On Nov 21, 2014,\nat 10:18,\nJohn Doe <john@doe.example> wrote:\n")],
  [
    "own lines above what is no attribution",
    text("On 3 Mar 2026 at 14:05\nOn 4 Mar 2026 at 14:05\njane@example.com wrotx:\n"),
  ],
  ["ends without colon", text("3 Mar 2026 14:05 jane@example.com wrote\n")],
  ["names and addresses", text(`${"Jane ".repeat(5)}(jane@example.com), x\n1:\n`)],
  ["one long name", text(`${"Jane ".repeat(55)}<a@b> 14:05:\n`)],
  ["addresses in a row", text(`${"a@b".repeat(90)} 14:05:\n`)],
  ["brackets in a row", text(`${"<".repeat(200)}@ 14:05:\n`)],
  ["names that wrote", text(`${"Ada schrieb am ".repeat(15)}14:05:\n`)],
  ["numbers in a row", text(`${"1 ".repeat(120)}a@b:\n`)],
  ["rules before heads", text(`${"-".repeat(20)}${"x".repeat(60)}${"-".repeat(20)}From:\n`)],
  ["dashes", text(`${"-".repeat(19)}x`)],
];

const pages: readonly [why: string, html: string][] = [
  ...[
    "<div>",
    "<div>x",
    "<blockquote>x",
    "<blockquote type=cite>",
    "<blockquote type=cite>x</blockquote>",
    "<",
    "&#x31;",
  ].map((piece): [string, string] => [`much of ${piece}`, html(piece)]),
  ...[
    "<div class=gmail_quote>x<blockquote>",
    "x<hr id=zwchr>",
    "a<br>",
    "From: x<br>",
    "<div>From: x",
    "<a href='",
  ].map((piece): [string, string] => [`much of ${piece}`, html(piece)]),
  ["quotes with answers", `x${html("<div class=gmail_quote>y<blockquote>z</blockquote>w</div>")}`],
  ["attributions above quotes", html(`${line}<blockquote>x</blockquote>`)],
  ["what is nearly an attribution above quotes", html(`${line.replace("wrote", "wrotx")}<blockquote>x</blockquote>`)],
  ["forwarded mails in quotes", html("<div class=gmail_quote>a<br>b<br>---- Forwarded message ----</div>")],
  ...[
    "<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>",
    "<div>From: a</div><div>To: b@c</div><div>Cc: 1</div><div>Date: x</div><div>Bcc: x</div>",
    "<div>De: a@b</div><div>Data: b</div><div>A: 1</div><div>Kopie: x</div><div>Betreff: x</div>",
    "<table><tr><td>x<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>",
  ].map((piece): [string, string] => [`much of ${piece}`, html(piece)]),
  ["heads in the deep", filled("<div>", 1000) + html("From: x<br>To: y<br>")],
];

describe("the new part of a hostile mail is found in twenty milliseconds", () => {
  test.each(texts)("%s", (_, bodyText) => {
    for (const isReply of [true, false]) {
      expect(excessMsOf(() => newContentOf({ bodyText, bodyHtml: undefined, isReply }))).toBeUndefined();
    }
  });
  test.each(pages)("HTML: %s", (_, bodyHtml) => {
    for (const isReply of [true, false]) {
      expect(excessMsOf(() => newContentOf({ bodyText: "Yes.", bodyHtml, isReply }))).toBeUndefined();
    }
  });
});
