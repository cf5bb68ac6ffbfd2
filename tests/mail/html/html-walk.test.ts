import { describe, expect, test } from "bun:test";
import { htmlWindow, linesOf, piecesWithin, visibleTextOf, walkHtml } from "../../../src/mail/html/html-walk.ts";

describe("the visible words", () => {
  const rows: readonly [what: string, html: string, text: string][] = [
    ["inline tags join", "<p>4<b>8</b><span>2</span>913</p>", "482913"],
    ["block tags break", "<div>one</div>two<p>three", "one\ntwo\nthree"],
    ["cells and breaks break", "<table><tr><td>4<td>8</table>2<br>9", "4\n8\n2\n9"],
    ["white space is one space", "<p>\n  a \t b\n<b> c</b>\r\nd\fe\rf </p>", "a b c d e f"],
    ["but not in preformatted text", "<pre>a\n b</pre>", "a\nb"],
    ["a space that does not break stays", "482&nbsp;913", "482\u00a0913"],
    ["entities are decoded", "&lt;&#x31;&#50;&amp;lt; AT&T", "<12&lt; AT&T"],
    ["entities beyond Unicode are nothing", "a&#x110000;&#99999999999999;&#xd800;&#0;b", "ab"],
    [
      "what is not there to be read is not read",
      "<title>t</title><style>s</style><script>1</script><noscript>n</noscript>x",
      "x",
    ],
    ["nor templates, comments and the head", "<head>h<meta></head><body><template>t</template><!-- c -->x", "x"],
    ["a head without an end ends at the first other element", "<head><title>t</title><div>x</div>", "x"],
    ["a comment ends with a mark of exclamation, too", "a<!-- b --!>c<!-- --!d -->e", "ace"],
    ["or at once", "a<!-->b<!--->c<!---->d<!--!>-->e<!----!>f", "abcdef"],
    ["a lone sign is a word", "1 < 2 <3", "1 < 2 <3"],
    ["a tag without an end shows nothing", "x<a href='", "x"],
    ["nothing at all", "", ""],
  ];
  test.each(rows)("%s", (_, html, text) => expect(visibleTextOf(html)).toBe(text));
});

describe("hidden words are left out", () => {
  const hiding: readonly [by: string, attributes: string][] = [
    ["the attribute", "hidden"],
    ["no display", "style='color:red; DISPLAY : none !important'"],
    ["no visibility", "style=visibility:hidden"],
    ["no size", "style='font-size:0'"],
    ["no size of a unit", "style='font-size: 0.0px;'"],
    ["no opacity", "style='opacity:0'"],
    ["no height", "style='max-height:0px;overflow:hidden'"],
    ["its own background", "style='color:#FFF;background:white'"],
    ["no display, behind white space", "style='display:      none'"],
    ["no display by an entity", "style='display&#58;none'"],
    ["no opacity by an entity", "style='opacity&colon;0'"],
    ["no display before a comment", "style='display:none /* mso */'"],
    ["no display around comments", "style='/*;*/display/**/:none/**/'"],
    ["no display by an escape", "style='d\\69splay:n\\6f ne'"],
    ["no display behind a string that looks like a comment", `style='font-family:"/*";display:none;color:"*/"'`],
    ["no display behind a string that has no end", `style='font-family:"a\ndisplay:block;display:none'`],
    ["no display behind an address with a quote", `style='background:url(a"b);display:none'`],
    ["no display before a bracket that has no end", "style='display:none;color:rgb(1;display:block'"],
    ["no size with an exponent", "style='font-size:0e1px'"],
    ["its own background by attributes", "bgcolor=#ffffff style='color:rgb(255, 255, 255)'"],
  ];
  test.each(hiding)("by %s", (_, attributes) => {
    expect(visibleTextOf(`<p>seen</p><div ${attributes}>not <b>this</b></div>`)).toBe("seen");
  });

  const showing: readonly [why: string, html: string][] = [
    ["no height without clipping", "<div style='height:0'>seen</div>"],
    ["a size of its own in a cell without one", "<td style='font-size:0px'><p style='font-size:14px'>seen</p>"],
    ["visible again", "<div style='visibility:hidden'><p style='visibility:visible'>seen</p>"],
    ["another colour again", "<div style='background:#fff;color:#fff'><p style='color:#000'>seen</p>"],
    ["a picture behind it", "<div style='background:#fff'><div style='background:url(x);color:#fff'>seen</div>"],
    ["the last word of its style", "<div style='display:none;display:block'>seen</div>"],
    ["a comment in a word of its style", "<div style='display:no/**/ne;dis/**/play:none'>seen</div>"],
    ["no display in a comment", "<div style='color:red/*;display:none;'>seen</div>"],
    ["no display in a string", `<div style='font-family:"a;display:none;"'>seen</div>`],
    ["no display in brackets", "<div style='x(;display:none;)'>seen</div>"],
    ["an escaped mark", "<div style='display:none\\!important'>seen</div>"],
    ["a break behind hidden blocks", "<span hidden><p>not</p></span><br>seen"],
    ["a small size", "<div style='font-size:0.5px;opacity:.1'>seen</div>"],
  ];
  test.each(showing)("but with %s they are", (_, html) => {
    expect(visibleTextOf(`<p>before</p>${html}`)).toBe("before\nseen");
  });

  test("the background of an element around counts", () => {
    const html = "<div style='background-color:#ffffff'>seen<p><font color=white>not</font></p></div>";
    expect(visibleTextOf(html)).toBe("seen");
  });

  test("they stay if there are no others", () => {
    expect(visibleTextOf("<div style='display:none'>all</div> <p> </p>")).toBe("all");
  });
});

describe("elements have their offsets in the HTML", () => {
  const elementsOf = (html: string) =>
    walkHtml(html).elements.map(({ name, start, end }) => `${name}: ${html.slice(start, end)}`);

  const rows: readonly [what: string, html: string, elements: string[]][] = [
    ["closed by its end tag", "a<b>x</b >y", ["b: <b>x</b >"]],
    ["closed by the one around", "<div><b>x</div>y", ["div: <div><b>x</div>", "b: <b>x"]],
    ["closed by the next of its kind", "<li>1<li>2", ["li: <li>1", "li: <li>2"]],
    ["one link ends another", "<a>1<b>2<a>3", ["a: <a>1<b>2", "b: <b>2", "a: <a>3"]],
    ["open to the end", "<div>x", ["div: <div>x"]],
    ["without content", "<hr>x<br/>", ["hr: <hr>", "br: <br/>"]],
    ["not read", "<style>p{}</style>x", ["style: <style>p{}</style>"]],
    [
      "no end tag reaches out of a cell",
      "<div><table><td></div>x</table>y</div>z",
      ["div: <div><table><td></div>x</table>y</div>", "table: <table><td></div>x</table>", "td: <td></div>x"],
    ],
    [
      "nor out of a table within",
      "<td><table></td>x</table>y</td>z",
      ["td: <td><table></td>x</table>y</td>", "table: <table></td>x</table>"],
    ],
    ["words behind the body belong to it", "<body>x</body>y", ["body: <body>x</body>y"]],
  ];
  test.each(rows)("%s", (_, html, elements) => expect(elementsOf(html)).toEqual(elements));

  test("attributes are decoded, by names in lower case, and the first of a name counts", () => {
    const [link] = walkHtml("<A HREF='?a=1&amp;b=2&copy=3' href=x checked>x").elements;
    expect([...(link?.attributes ?? [])]).toEqual([
      ["href", "?a=1&b=2&copy=3"],
      ["checked", ""],
    ]);
  });

  test("a tag has no more than 64 of them, and none over 4,096 characters", () => {
    const flood = Array.from({ length: 100 }, (_, index) => `a${index}=1`).join(" ");
    const [p, a] = walkHtml(`<p ${flood}><a href=${"x".repeat(5000)} id=y>`).elements;
    expect(p?.attributes.size).toBe(64);
    expect([...(a?.attributes ?? [])]).toEqual([["id", "y"]]);
  });

  test("an element that is open at the end of the window reaches to the end of the HTML", () => {
    const html = `<div>${"x".repeat(htmlWindow)}</div>`;
    expect(walkHtml(html).elements.map(({ end }) => end)).toEqual([html.length]);
  });

  test("the words of one element are those of its pieces", () => {
    const walk = walkHtml("<p>a<a>b <i>c</i><br>d</a>e");
    const link = walk.elements.find(({ name }) => name === "a");
    expect(link && linesOf(walk, piecesWithin(walk, link))).toBe("b c\nd");
  });
});

test("a walk holds no more than 32,768 elements, and the tags behind them are still no words", () => {
  const { elements } = walkHtml("<b>x</b>".repeat(32_768));
  expect(elements).toHaveLength(32_768);
  expect(walkHtml("<b>".repeat(10_000) + "<i>x</i>".repeat(28_000)).elements.length).toBeLessThanOrEqual(32_768);
  expect(visibleTextOf(`${"<b></b>".repeat(33_000)}<p>a</p><p>b</p>`)).toBe("a\nb");
});
