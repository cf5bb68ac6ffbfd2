import { expect, test } from "bun:test";
import { isHtml } from "../../src/domain/body.ts";
import { cpuMs } from "../support/cpu.ts";

const html: readonly [says: string, body: string][] = [
  ["a document with doctype", "<!DOCTYPE html><title>x</title>"],
  ["a document behind white space", " \r\n\t<!doctype HTML PUBLIC '-'>hi"],
  ["a document behind a byte order mark", "\uFEFF<html lang=en>hi"],
  ["a document without doctype", "<HTML>hi"],
  ["a line break", "one<br>two"],
  ["a closed line break", "one<br/>two"],
  ["a line break with attributes", "one<BR clear='all' />two"],
  ["a rule", "one <hr> two"],
  ["an image", '<img src="https://example.com/a>b.png" alt="x">'],
  ["a paragraph", "<p>hello</p>"],
  ["a paragraph with attributes", "<p class='a' title=\"1 > 2 < 3\">hello</p>"],
  ["a link in a sentence", 'see <a href="https://example.com">this</a>'],
  ["an element over lines", "<b\n class=x>bold</b\n>"],
  ["upper case opened, lower case closed", "<STRONG>x</strong>"],
  ["a heading", "<h1>x</h1>"],
  ["a table without anything else", "<table><tr><td>x" + "</table>"],
  ["crossed elements", "<b><i>x</b></i>"],
  ["an element behind a quote that never closes", "<p title='x><b>bold</b>"],
  ["an element behind a < of arithmetic", "a < b and <b>bold</b>"],
  ["an element inside what looked like a tag", "<p <b>x</b>"],
];

const text: readonly [says: string, body: string][] = [
  ["nothing", ""],
  ["plain words", "hello"],
  ["an address in angle brackets", "Bob <bob@example.com> wrote"],
  ["an address that begins like an element", "<b@example.com> </b@example.com>"],
  ["arithmetic", "a < b and b > c"],
  ["a generic type", "List<T> and Map<K, V>, even List<P> and List<A>"],
  ["an element that is named, not used", "use <code> tags"],
  ["an element that is only closed", "the end tag </p> is optional"],
  ["an element that is closed before it is opened", "</b> then <b>"],
  ["elements opened and others closed", "<b>x</i>"],
  ["a document further on", "see: <html>"],
  ["a word that begins like a document", "<htmlElement> is a type"],
  ["a tag that never ends", "<p>hello</p"],
  ["a void tag that never ends", "a <br"],
  ["an unknown element", "<answer>42</answer>"],
  ["an element whose name only begins like one", "<pp>x</pp> <brr> <images> <h7>x</h7>"],
  ["a link in angle brackets", "<https://example.com/p>"],
  ["escaped HTML", "&lt;p&gt;x&lt;/p&gt;"],
  ["a space before the name", "< p>x</ p>"],
  ["a script, which is no element of mail", "<script>x</script>"],
];

test.each(html)("HTML: %s", (_says, body) => {
  expect(isHtml(body)).toBe(true);
});

test.each(text)("text: %s", (_says, body) => {
  expect(isHtml(body)).toBe(false);
});

test.each(["<", "<p ", "</", "<p a='", '<p a="', "<b", "<p =", "<p = '", "</p>", " ", "<!doctype ", "<a\n"])(
  "1 MB of %j is text, at once",
  (piece) => {
    const body = piece.repeat(1_000_000 / piece.length);
    const startMs = cpuMs();
    expect(isHtml(body)).toBe(false);
    expect(cpuMs() - startMs).toBeLessThan(1_000);
  },
);
