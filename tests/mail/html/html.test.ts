import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { escapeHtml, sanitizeHtml, textOfHtml } from "../../../src/mail/html/html.ts";
import { shownElements, tameHtml } from "../../../src/mail/html/tame-html.ts";
import { cpuMs } from "../../support/cpu.ts";

describe("the text alternative of HTML", () => {
  const rows: readonly [says: string, html: string, text: string][] = [
    ["paragraphs are apart", "<p>one</p><p>two</p>", "one\n\ntwo"],
    ["a paragraph's end tag may be left out", "<p>one<p>two", "one\n\ntwo"],
    ["a line break is one", "one<br>two<br/>three", "one\ntwo\nthree"],
    ["white space runs are one space", "<div>a \n\t b</div>", "a b"],
    ["preformatted text keeps its lines", "<pre>a\n  b</pre>", "a\n  b"],
    ["a link shows where it goes", '<a href="https://example.com/x">our page</a>', "our page (https://example.com/x)"],
    [
      "a link that shows itself stands once",
      '<a href="https://example.com/">https://example.com</a>',
      "https://example.com",
    ],
    [
      "a link around a picture is its address",
      '<a href="https://example.com/x"><img src=y></a>',
      "https://example.com/x",
    ],
    ["a mail link shows the address", '<a href="mailto:jane@example.com">Jane</a>', "Jane (jane@example.com)"],
    ["a link into the page shows no address", '<a href="#top">up</a>', "up"],
    ["a link that would run something shows no address", '<a href="java\nscript:alert(1)">go</a>', "go"],
    ["a link's query keeps its ampersand", '<a href="https://e.com/?a=1&amp;b=2">x</a>', "x (https://e.com/?a=1&b=2)"],
    ["a list is bulleted", "<ul><li>one<li>two</ul>", "* one\n* two"],
    ["a list within a list is indented", "<ul><li>one<ul><li>in</ul></ul>", "* one\n  * in"],
    ["an ordered list counts from its start", "<ol start=9><li>a<li>b</ol>", "9.  a\n10. b"],
    ["a table row is a line", "<table><tr><th>Name<th>Price<tr><td>Tea<td>5</table>", "Name | Price\nTea | 5"],
    ["an empty cell is not seen", "<table><tr><td>a<td> <td>b</table>", "a | b"],
    ["a layout table is its blocks", "<table><tr><td><p>a</p></td><td><p>b</p></td></tr></table>", "a\n\nb"],
    ["entities are characters", "&lt;b&gt; &amp; &euro;&#x1F600;&nbsp;&copy", "<b> & €😀\u00a0©"],
    ["a quotation is quoted", "<blockquote>a<br><br>b<blockquote>c</blockquote></blockquote>", "> a\n>\n> b\n>\n>> c"],
    ["a picture is its alternative", '<img src="cid:x" alt="Our logo">', "Our logo"],
    ["headings are not shouted", "<h1>Hello</h1>there", "Hello\n\nthere"],
    ["script, style and title are not text", "<title>t</title><style>p{}</style><script>'</p>'</script>x", "x"],
    ["a comment is not text", "a<!-- <p>no</p> -->b<!-->c", "abc"],
    ["a lone < is text", "a < b and 1<2", "a < b and 1<2"],
    ["text outside the body is text", "before<body>in</body>after", "beforeinafter"],
    ["nothing is nothing", "", ""],
  ];
  test.each(rows)("%s", (_says, html, text) => {
    expect(textOfHtml(html)).toBe(text);
  });

  test("holds no NUL and no lone surrogate", () => {
    expect(textOfHtml("a\0b\uD800c&#0;&#xD800;")).toBe("a\uFFFDb\uFFFDc\uFFFD\uFFFD");
  });
});

describe("HTML of a stranger", () => {
  const rows: readonly [says: string, html: string, sanitized: string][] = [
    ["keeps structure", "<p>a <b>b</b></p><ul><li>c</li></ul>", "<p>a <b>b</b></p><ul><li>c</li></ul>"],
    ["keeps a table", "<table><tr><td colspan=2>a</td></tr></table>", '<table><tr><td colspan="2">a</td></tr></table>'],
    ["keeps a link", '<a href="https://e.com/?a=1&b=2">x</a>', '<a href="https://e.com/?a=1&amp;b=2">x</a>'],
    ["loses scripts", "a<script>alert(1)</script>b", "ab"],
    ["loses a script that hides in a script", "<scr<script>ipt>alert(1)</script>", "ipt&gt;alert(1)"],
    ["loses event handlers", '<p onclick="alert(1)">a</p><img src=x onerror=alert(1)>', "<p>a</p><span></span>"],
    ["loses javascript: links", '<a href="javascript:alert(1)">a</a>', "<a>a</a>"],
    ["loses javascript: links in disguise", '<a href=" java&#10;script&colon;alert(1)">a</a>', "<a>a</a>"],
    ["loses data: links", '<a href="data:text/html,<script>">a</a>', "<a>a</a>"],
    ["loses protocol-relative links", '<a href="//evil.example/">a</a>', "<a>a</a>"],
    ["loses styles", '<p style="background:url(//e)" class=c id=i>a</p><style>*{}</style>', "<p>a</p>"],
    ["loses forms and their fields", "<form action=//e><input name=n><button>b</button></form>", "<div>b</div>"],
    ["loses frames, embeds and objects", "<iframe src=//e>a</iframe><embed src=e><object>b</object>c", "c"],
    [
      "loses meta, base and link",
      '<meta http-equiv=refresh content="0;url=//e"><base href=//e><link rel=x href=//e>a',
      "a",
    ],
    ["loses SVG and MathML", "<svg><a href=//e><script>alert(1)</script></a></svg><math><mi>x</math>a", "a"],
    ["has the alternative for a picture", '<img src="https://e/pixel.gif" alt="a<b>">', "<span>[a&lt;b&gt;]</span>"],
    ["loses comments, conditional ones too", "<!--[if mso]><p>a<![endif]-->b<![endif]>", "b"],
    ["can't close what it did not open", "</blockquote></div></body></html>a</p>", "a<p></p>"],
    ["closes what it opens", "<div><b><table><tr><td>a", "<div><b><table><tr><td>a</td></tr></table></b></div>"],
    ["an unfinished tag is nothing", 'a<p title="x', "a"],
    ["an unfinished comment is nothing", "a<!-- b", "a"],
    [
      "a raw-text trick stays text",
      "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
      "<span></span>'&gt;",
    ],
  ];
  test.each(rows)("%s", (_says, html, sanitized) => {
    expect(sanitizeHtml(html)).toBe(sanitized);
  });

  test("becomes balanced elements of the list with harmless attributes", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ..."<p> </p> <b> </b> <div> </div> <table> <tr> <td> </td> </table> <li> </blockquote> <blockquote> <script> </script>".split(
          " ",
        ),
        ..."<style> </style> <!-- --> <![CDATA[ ]]> <svg> </svg> <math> <title> <textarea> <select> <noscript> </noscript> <xmp>".split(
          " ",
        ),
        "<a href='javascript:alert(1)'>",
        '<a href="https://e/">',
        "<img src=x onerror=y>",
        "<p style='x' onclick=\"",
      ),
      fc.constantFrom("<", ">", '"', "'", "=", "/", "&", " ", "&lt;", "&#60;", "\0", "<a/href=x", "<!"),
      fc.string({ maxLength: 5, unit: "binary" }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const html = sanitizeHtml(pieces.join(""));
        expectBalanced(html);
        expect(html).not.toMatch(/<[^>]*\son|javascript:|<script|<style|<img/i);
        expectBalanced(tameHtml(pieces.join("")));
      }),
      { numRuns: 500 },
    );
  });
});

describe("500 KB of hostile HTML take no longer than 500 KB of mail", () => {
  const fill = (piece: string) => piece.repeat(Math.ceil(500_000 / piece.length));
  const rows: readonly [says: string, html: string][] = [
    ["20,000 nested elements", `${"<div>".repeat(20_000)}x${"</div>".repeat(20_000)}`],
    ["20,000 nested lists", `${"<ul><li>".repeat(20_000)}x`],
    ["20,000 nested quotations", `${"<blockquote>".repeat(20_000)}x`],
    ["20,000 nested tables", `${"<table><tr><td>".repeat(20_000)}x`],
    ["20,000 nested links", `${"<a href='http://x'>".repeat(20_000)}x`],
    ["unclosed elements and stray end tags", `${"<i>".repeat(80_000)}${"</b>".repeat(60_000)}x`],
    ["many lines in nested lists", `${"<ul><li>".repeat(150)}${fill("x<br>")}`],
    ["a cell that spans everything", `<table>${fill("<tr><td colspan=1000000 rowspan=1000000>x")}`],
    ...[
      "<",
      "&",
      "&#",
      "<!--",
      "<script>",
      "<title>",
      "<svg>",
      "<select>",
      "</p>",
      "<p a=",
      "<p a='",
      "x ",
      "\n",
      "<br>",
    ].map((piece): [string, string] => [`nothing but ${JSON.stringify(piece)}`, `${fill(piece)}x`]),
    ["nothing but spaces", `<pre>${fill(" ")}x</pre>`],
  ];
  test.each(rows)("%s", (_says, html) => {
    const startMs = cpuMs();
    textOfHtml(html);
    sanitizeHtml(html);
    // Linear code takes 0.1 to 1.5 s on a busy machine; quadratic code took 10 s to 3 min.
    expect(cpuMs() - startMs).toBeLessThan(6_000);
  });

  test("a link of comments", () => {
    const html = `<a href="${fill("<!---->")}">x</a>`;
    const startMs = cpuMs();
    expect(sanitizeHtml(html)).toBe("<a>x</a>");
    // Took 4 s.
    expect(cpuMs() - startMs).toBeLessThan(1_000);
  });

  test("words past the depth that is kept are kept", () => {
    expect(textOfHtml(`${"<div>".repeat(20_000)}deep`)).toBe("deep");
  });
});

describe("marks before lines do not multiply their length", () => {
  const fill = (piece: string) => piece.repeat(Math.ceil(100_000 / piece.length));
  const rows: readonly [says: string, html: string][] = [
    ["nested quotations", fill("<blockquote>x<br>")],
    ["nested lists", fill("<ul><li>x")],
    ["line breaks in quotations within lists", `${"<ul><li>".repeat(8)}${"<blockquote>".repeat(16)}${fill("<br>")}`],
    ["line breaks in lists of large numbers", `${"<ol start=9007199254740990><li>".repeat(8)}${fill("x<br>")}`],
    ["rules", fill("<hr>")],
  ];
  test.each(rows)("%s", (_says, html) => {
    const text = textOfHtml(html);
    expect(text.length).toBeLessThan(3 * html.length);
  });

  test("words are there without their marks", () => {
    const text = textOfHtml(`<blockquote><ol start=9007199254740990><li>${fill("word<br>")}`);
    expect(text.match(/word/g)).toHaveLength(12_500);
  });

  test("real mail has all of its marks", () => {
    const thread = "<blockquote>".repeat(12) + "<p>What do you think?</p><ul><li>yes<li>no</ul>".repeat(200);
    expect(textOfHtml(thread).match(/^>{12} \* (?:yes|no)$/gm)).toHaveLength(400);
  });
});

test("escaped text shows exactly its characters", () => {
  expect(escapeHtml(`<a href="x">&amp;</a>`)).toBe("&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;");
});

function expectBalanced(html: string): void {
  const open: string[] = [];
  for (const [tag, slash, name = "", rest = ""] of html.matchAll(/<(\/?)([^\s>]*)([^>]*)>?/g)) {
    expect(tag).toEndWith(">");
    expect(rest).toMatch(/^( (href|alt|start|colspan|rowspan|align|dir|lang)(="[^"<>]*")?)*( \/)?$/);
    if (name === "br" || name === "hr" || name === "img") continue;
    expect(shownElements).toContain(name);
    if (slash === "") open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
}
