import { describe, expect, test } from "bun:test";
import { shownCss } from "../../../src/mail/html/shown-css.ts";
import { cpuMs } from "../../support/cpu.ts";
import { watchesClock } from "../../support/watches-clock.ts";

const picture = "https://a.example/b.png?c=d;e";

describe("The styles of a mail", () => {
  const rows: readonly [what: string, css: string, without: string, withPictures: string][] = [
    ["keep what says how it looks", "color:red;width:50vw", "color:red;width:50vw", "color:red;width:50vw"],
    [
      "keep names of fonts",
      `p{font-family:"Segoe UI",'x'}`,
      `p{font-family:"Segoe UI",'x'}`,
      `p{font-family:"Segoe UI",'x'}`,
    ],
    [
      "have a picture where it may be fetched",
      `background:url(${picture})`,
      "background:none",
      `background:url("${picture}")`,
    ],
    [
      "have it by either quote",
      `background:url('${picture}') top`,
      "background:none top",
      `background:url("${picture}") top`,
    ],
    ["have no picture of this service", "background:url(/v1/inboxes)", "background:none", "background:none"],
    ["have no picture of another scheme", "background:url(javascript:x)", "background:none", "background:none"],
    ["have no pointer", `cursor:url(${picture}),auto`, "cursor:none,auto", "cursor:none,auto"],
    ["have no filter by address", `filter:url(${picture}#x)`, "filter:none", "filter:none"],
    ["have no font by address", `@font-face{src:url(${picture})}`, "@none{src:none}", "@none{src:none}"],
    ["have no address in a variable", `--x:url(${picture})`, "--x:none", "--x:none"],
    [
      "import nothing",
      `@import url(${picture});@import "${picture}";a{}`,
      '@none none;@none "https://a.example/b.png?c=d;e";a{}',
      `@none url("${picture}");@none "${picture}";a{}`,
    ],
    ["have no behaviour", `behavior:url(${picture});color:red`, ";color:red", ";color:red"],
    ["have no binding", `-MOZ-Binding : url(${picture});color:red`, ";color:red", ";color:red"],
    ["compute nothing", "width:expression(alert(1))", "width:nonealert(1))", "width:nonealert(1))"],
    ["write no words", `a::before{content:"x;}y";color:red}`, "a::before{;color:red}", "a::before{;color:red}"],
    ["write no words by marks", `list-style:"x" inside`, 'list-style:"" inside', 'list-style:"" inside'],
    ["turn no words", "direction:rtl;unicode-bidi:bidi-override", ";", ";"],
    [
      "keep names that only contain those",
      ".content:hover{align-content:center}",
      ".content:hover{align-content:center}",
      ".content:hover{align-content:center}",
    ],
    [
      "do not follow the window's height",
      "min-height:110vh;height:calc(1e1dVH + .5svmin)",
      "min-height:880px;height:calc(80px + 4px)",
      "min-height:880px;height:calc(80px + 4px)",
    ],
    ["keep names with such a unit", ".h-100vh{height:-5cqh}", ".h-100vh{height:-40px}", ".h-100vh{height:-40px}"],
    [
      "mean the mail by its document",
      "html > body, :root p{color:red}",
      "[data-mail], [data-mail] p{color:red}",
      "[data-mail], [data-mail] p{color:red}",
    ],
    [
      "do not reach the element around",
      ":host(div),@scope (:host){color:red}",
      ":none(div),@scope (:none){color:red}",
      ":none(div),@scope (:none){color:red}",
    ],
    ["may stand in a comment of old", "<!-- p{color:red} -->", " p{color:red} ", " p{color:red} "],
    ["end no element", "p{}</style><script>", "p{}/style>script>", "p{}/style>script>"],
  ];
  test.each(rows)("%s", (_, css, without, withPictures) => {
    expect([shownCss(css, false), shownCss(css, true)]).toEqual([without, withPictures]);
  });

  test("take time that grows with their length alone", watchesClock, () => {
    const time = (css: string) => {
      const attempts = Array.from({ length: 3 }, () => {
        const startMs = cpuMs();
        shownCss(css, true);
        return cpuMs() - startMs;
      });
      return Math.min(...attempts);
    };
    for (const unit of ["'", "(", "1", "1e1", "url(", "url('", "content:", "html ", "a{b:c;", "list-style:'"]) {
      const [half, whole] = [64, 128].map((size) => unit.repeat((size * 1024) / unit.length));
      time(half ?? "");
      const [short, long] = [time(half ?? ""), time(whole ?? "")];
      expect([unit, long < Math.max(40, short * 4)]).toEqual([unit, true]);
    }
  });
});
