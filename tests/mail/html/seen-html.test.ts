import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isHidden, walkHtml } from "../../../src/mail/html/html-walk.ts";
import { mayHide, textOfSeenHtml, withoutHidden } from "../../../src/mail/html/seen-html.ts";

describe("the text of a mail's HTML has its visible words", () => {
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
    ["without words hidden behind white space", "<div style='display:      none'>not</div><p>Hello</p>", "Hello"],
    ["without words hidden by an entity", "<div style='display&#58;none'>not</div><p>Hello</p>", "Hello"],
    ["without words hidden beside a comment", "<div style='display:none /* mso */'>not</div><p>Hello</p>", "Hello"],
    [
      "without words of their own ground's colour, behind white space",
      "<div style='color:      #fff;background-color:      #fff'>not</div><p>Hello</p>",
      "Hello",
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

  test("and an element that is hidden beyond the window of a walk is visible behind the window", () => {
    const html = `<div hidden>${"not ".repeat(80_000)}</div>end`;
    const seen = withoutHidden(html);
    expect(seen.length).toBe(html.length - 256 * 1024);
    expect(seen).toEndWith("</div>end");
  });
});

test("HTML in which a walk finds hidden words may hide", () => {
  const space = fc.constantFrom("", " ", "      ", "\n", "/**/", "/* x */");
  const colon = fc.constantFrom(":", ":", "&#58;", "&colon;");
  const property = fc.constantFrom(
    ..."display visibility opacity font-size height max-height overflow color background background-color".split(" "),
    ..."DISPLAY d\\69splay c\\6f lor font-&#115;ize".split(" "),
  );
  const value = fc.constantFrom(
    ..."none n\\6fne hidden 0 .0px 0e1px 0% #fff white WHITE #ffffff rgb(255,255,255) url(;) block 14px".split(" "),
    "rgb(255, 255, 255)",
    "&#35;fff",
    "none !important",
    '";"',
    "url('",
    "/*",
  );
  const declaration = fc.tuple(space, property, space, colon, space, value, space).map((parts) => parts.join(""));
  const style = fc.array(declaration, { maxLength: 4 }).map((declarations) => declarations.join(";"));
  const quoted = style.map((written) => `"${written.replaceAll('"', "&quot;")}"`);
  const attribute = fc.oneof(
    quoted.map((written) => `style=${written}`),
    quoted.map((written) => `STYLE      =      ${written}`),
    fc.constantFrom("hidden", "HIDDEN=x", "color=white", "color='&#35;fff'", "bgcolor=#fff", "background=x", "dir=ltr"),
  );
  const tag = fc
    .array(attribute, { maxLength: 3 })
    .map((attributes) => `<div${attributes.map((one) => ` ${one}`).join("")}>`);
  const html = fc.array(fc.oneof(tag, fc.constantFrom("x", "</div>", "<!-- --!>")), { maxLength: 6 });
  fc.assert(
    fc.property(html, (pieces) => {
      const written = `${pieces.join("")}x`;
      const { elements, pieces: words } = walkHtml(written);
      const hides = elements.some(({ look }) => look.hidden) || words.some(isHidden);
      return !hides || mayHide(written);
    }),
    { numRuns: 2000 },
  );
});
