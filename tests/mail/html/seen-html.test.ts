import { describe, expect, test } from "bun:test";
import { textOfSeenHtml, withoutHidden } from "../../../src/mail/html/seen-html.ts";

describe("the text of HTML that came in has what a reader sees", () => {
  const rows: readonly [what: string, html: string, text: string][] = [
    ["without a preheader", "<div style='display:none'>teaser <b>x</b></div><p>Hello</p>", "Hello"],
    ["without white words on white", "<body bgcolor=white><p>Hello<font color='#FFF'>not</font></p>", "Hello"],
    ["without words of no size", "<p>4<span style='font-size:0'>1 </span>8</p>", "48"],
    [
      "with words that take a size of their own",
      "<td style='font-size:0'>not<p style='font-size:14px'>Hello</p>",
      "Hello",
    ],
    ["without a hidden link", "<p>Hello <a href='https://e.com/x' style='visibility:hidden'>x</a></p>", "Hello"],
    [
      "with the picture of a link in a cell without size",
      "<td style='font-size:0px'><a href='https://e.com/x'><img alt='Go' src=y></a></td>",
      "Go (https://e.com/x)",
    ],
    ["whole where all of it is hidden", "<div style='opacity:0'>all</div>", "all"],
    ["whole where nothing hides", "<p style='color:#fff;background:#000'>Hello</p>", "Hello"],
    [
      "with words of another colour than the ground has",
      "<p style='background-color:#eee;color:#111'>Hello</p>",
      "Hello",
    ],
  ];
  test.each(rows)("%s", (_, html, text) => expect(textOfSeenHtml(html)).toBe(text));

  test("and what is hidden up to behind the window of a walk is seen from there on", () => {
    const html = `<div hidden>${"not ".repeat(80_000)}</div>end`;
    const seen = withoutHidden(html);
    expect(seen.length).toBe(html.length - 256 * 1024);
    expect(seen).toEndWith("</div>end");
  });
});
