import { afterAll, describe, expect, test } from "bun:test";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { markdownToHtml } from "../../../src/mail/write/markdown.ts";
import { busiest } from "../../support/busy.ts";
import { cpuMs } from "../../support/cpu.ts";
import { watchesClock } from "../../support/watches-clock.ts";

describe("Markdown as HTML", () => {
  const rows: readonly [what: string, markdown: string, html: string][] = [
    ["words", "**a** _b_ ~~c~~", "<p><strong>a</strong> <em>b</em> <s>c</s></p>"],
    ["HTML as text", "<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"],
    ["links to pages", "[a](https://x.example)", '<p><a href="https://x.example">a</a></p>'],
    ["links to addresses", "<a@x.example>", '<p><a href="mailto:a@x.example">a@x.example</a></p>'],
    ["no script", "[a](javascript:alert(1))", "<p>a</p>"],
    ["no script behind an entity", "[a](java&#115;cript:alert(1))", "<p>a</p>"],
    ["no data", "[a][b] ![c *d*](data:image/png,x)\n\n[b]: data:text/html,x", "<p>a c d</p>"],
    ["no address within this page", "[a](/b)", "<p>a</p>"],
    ["parts of the mail", "![a](cid:b@c)", '<p><img src="cid:b@c" alt="a"></p>'],
    ["no picture by http", "![a](http://x.example/b)", "<p>a</p>"],
    ["code", "`a<b`", '<p><code style="font-family:monospace">a&lt;b</code></p>'],
  ];
  test.each(rows)("%s", (_, markdown, html) => {
    expect(markdownToHtml(markdown)).toBe(html);
  });

  test("tables with lines", () => {
    const html = markdownToHtml("|a|b|\n|-|:-:|\n|1|2|");
    expect(html).toContain('<table border="1" cellpadding="6" style="');
    expect(html).toContain('<td align="center">2</td>');
  });
});

const size = 100_000;
const times = (piece: string) => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);
const hostile: readonly [what: string, markdown: string][] = [
  ...["[", "a_", "![", "> ", "- ", "[[]", "**a ", "](", "`", "<", "a|", "[a]: b (\n"].map((piece): [string, string] => [
    JSON.stringify(piece),
    times(piece),
  ]),
  ["nested lists", Array.from({ length: 440 }, (_, depth) => `${" ".repeat(depth)}- a`).join("\n")],
  ["a long table", `|a|b|\n|-|-|\n${times("|a|b|\n")}`],
  ["a wide table of few words", `|${"a|".repeat(800)}\n|${"-|".repeat(800)}\n${"a\n".repeat(1500)}`],
  ["references", Array.from({ length: 8000 }, (_, index) => `[a${index}]: /b`).join("\n")],
];

describe("hostile Markdown", () => {
  const parser = mailParser({ mailDomain: "inbox.localhost" });
  const hasty = mailParser({ mailDomain: "inbox.localhost", timeoutMs: 1, processes: 1 });
  afterAll(() => {
    parser.close();
    hasty.close();
  });

  test.each(hostile)("of %s takes less than a second", (_, markdown) => {
    const startMs = cpuMs();
    markdownToHtml(markdown);
    expect(cpuMs() - startMs).toBeLessThan(1000);
  });

  test.each(hostile)("of %s delays no other mail", watchesClock, async (_, markdown) => {
    const { busyMs } = await busiest(() => parser.htmlOfMarkdown(markdown, "a"));
    expect(busyMs).toBeLessThan(100);
  });

  test("long Markdown is converted like short Markdown", async () => {
    const markdown = "a **b**\n\n".repeat(3000);
    expect(await parser.htmlOfMarkdown(markdown, "a")).toBe(markdownToHtml(markdown));
  });

  test.each(["[Update]: shipped", "   \n", "#", "&nbsp;", "![](data:image/png,x)", "``` \n```"])(
    "%p shows nothing, so it has no HTML",
    async (markdown) => {
      expect(await parser.htmlOfMarkdown(markdown, "a")).toBeUndefined();
    },
  );

  test.each(["a", "---", "![](cid:b@c)", "- a", "[](x)\u00A0&lt;"])("%p shows something", async (markdown) => {
    expect(await parser.htmlOfMarkdown(markdown, "a")).toBe(markdownToHtml(markdown));
  });

  test("Markdown that takes too long or becomes too long has no HTML", async () => {
    expect(await hasty.htmlOfMarkdown(times("[["), "a")).toBeUndefined();
    expect(await parser.htmlOfMarkdown(`|a|b|\n|-|-|\n${times("|a|b|\n")}`, "a")).toBeUndefined();
  });
});
