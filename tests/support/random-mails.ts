/** Different mails in each run. A failure shows its seed, and `MAIL_SEED` repeats it. */
export const mailSeed = Number(process.env.MAIL_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]) % 1_000_000;
console.log(`Random mails: MAIL_SEED=${mailSeed}`);

/** The limit of processor time of the main thread for one mail. */
export const mostBusyMs = 200;

/**
 * Random mails, put together from the oddities of real and hostile mail. The same seed and number give the same mail.
 */
export function randomMail(seed: number, number: number): Buffer {
  const chance = chanceFrom(seed * 100_003 + number);
  return Buffer.from(mail(chance), "latin1");
}

interface Chance {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** Usually a small number, sometimes the largest. */
  few(most: number): number;
  isOneIn(odds: number): boolean;
  pick<One>(all: readonly One[]): One;
  /** Whether another part is allowed, which limits the parts of a deep mail. */
  mayDivide(): boolean;
}

const mostParts = 60;

/** Mulberry32: small, and the same everywhere. */
function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (limit: number) => Math.floor(next() * limit);
  let parts = 0;
  return {
    below,
    few: (most) => Math.floor(next() ** 4 * (most + 1)),
    isOneIn: (odds) => below(odds) === 0,
    pick: (all) => all[below(all.length)] as (typeof all)[number],
    mayDivide: () => ++parts < mostParts,
  };
}

/** All text here is octets, one for each character. */
function mail(chance: Chance): string {
  const lead = chance.isOneIn(30)
    ? chance.pick(["\xef\xbb\xbf", "\r\n", " ", "\n", "From eve Mon Jan  1\r\n", "\0"])
    : "";
  return lead + addressing(chance) + part(chance, chance.isOneIn(40) ? 40 : 4);
}

function addressing(chance: Chance): string {
  const fields: string[] = [];
  for (let left = 1 + chance.few(14); left > 0; left--) {
    const name = chance.pick(names);
    const values = /^(?:from|to|cc|reply-to|sender|bcc)/i.test(name) ? addresses : fieldValues;
    fields.push(name, chance.pick([": ", ":", ": ", " : ", ":\t"]), words(chance, values, 6), lineEnd(chance));
  }
  return fields.join("");
}

/** A value of these pieces, sometimes with one of them repeated far too often. */
function words(chance: Chance, pieces: readonly string[], most: number): string {
  const all = Array.from({ length: 1 + chance.few(most) }, () => chance.pick(pieces));
  if (chance.isOneIn(150)) all.push(chance.pick(pieces).repeat(1 + chance.below(20_000)), chance.pick(pieces));
  return all.join(chance.pick(["", " ", ", ", "\r\n ", "\r\n\t", ";"]));
}

function lineEnd(chance: Chance): string {
  return chance.isOneIn(12) ? chance.pick(["\n", "\r", "\r\r\n", "\r\n \r\n", "\n\r", ""]) : "\r\n";
}

/** Content fields, a separator, and the body. */
function part(chance: Chance, depth: number): string {
  if (depth > 0 && !chance.isOneIn(depth > 4 ? 40 : 3) && chance.mayDivide()) return multipart(chance, depth);
  const fields: string[] = [];
  if (!chance.isOneIn(4)) fields.push(`Content-Type: ${chance.pick(types)}${parameters(chance)}`);
  if (chance.isOneIn(2)) fields.push(`Content-Transfer-Encoding: ${chance.pick(encodings)}`);
  if (chance.isOneIn(3)) fields.push(`Content-Disposition: ${chance.pick(dispositions)}${parameters(chance)}`);
  if (chance.isOneIn(8)) fields.push(`Content-ID: ${chance.pick(fieldValues)}`);
  return fields.map((field) => field + lineEnd(chance)).join("") + separator(chance) + body(chance);
}

function parameters(chance: Chance): string {
  return Array.from(
    { length: chance.few(4) },
    () => chance.pick(["; ", ";", ";\r\n ", " ", ", "]) + chance.pick(given),
  ).join("");
}

function separator(chance: Chance): string {
  return chance.isOneIn(10) ? chance.pick(["", " \r\n", "\n", "\t\r\n\r\n", "Hi\r\n", "\r"]) : "\r\n";
}

function multipart(chance: Chance, depth: number): string {
  const boundary = chance.pick(["b", "bb", `b${depth}`, "=_x y", "x".repeat(75), "--", "a'b()+_,-./:=?", ""]);
  const written = chance.pick([boundary, `"${boundary}"`, `"${boundary}"`, `${boundary} (c)`, `"${boundary}`]);
  const subtype = chance.pick(["mixed", "mixed", "alternative", "related", "digest", "report", "x", ""]);
  const children = chance.isOneIn(300) ? 1500 : chance.few(5) + 1;
  const parts = Array.from({ length: children }, () => {
    const inner =
      children > 100 || chance.isOneIn(10)
        ? chance.pick(["", "\r\n", "x", "Content-Type: a/b\r\n"])
        : part(chance, depth - 1);
    return `${lineEnd(chance)}--${boundary}${chance.isOneIn(20) ? chance.pick([" ", "x", "--", "\t\t"]) : ""}${lineEnd(chance)}${inner}`;
  });
  const close = chance.isOneIn(5)
    ? ""
    : `${lineEnd(chance)}--${boundary}--${chance.pick(["", "\r\n", " \r\n", "\r\nepilogue"])}`;
  return `Content-Type: multipart/${subtype}; boundary=${written}${parameters(chance)}${lineEnd(chance)}${separator(chance)}preamble${parts.join("")}${close}`;
}

function body(chance: Chance): string {
  if (chance.isOneIn(120)) return bomb(chance);
  const pieces = chance.pick([texts, texts, markup, coded]);
  return Array.from({ length: chance.few(60) }, () => chance.pick(pieces)).join(chance.pick(["", " ", "\r\n", "\n"]));
}

/** A beginning that a pattern matches, a long repetition, and an end where it may fail. */
function bomb(chance: Chance): string {
  const all = [...texts, ...markup, ...coded];
  const run = chance.pick(all);
  const octets = chance.isOneIn(60) ? 2_000_000 : chance.pick([1_000, 20_000, 47_000, 200_000]);
  return chance.pick(all) + run.repeat(Math.ceil(octets / Math.max(run.length, 1))) + chance.pick(all);
}

const names = [
  ..."From From From To To Cc Bcc Reply-To Sender Subject Subject Subject Date Message-ID Message-ID In-Reply-To".split(
    " ",
  ),
  ..."References References Received X-Received Return-Path Delivered-To MIME-Version Auto-Submitted List-Id".split(
    " ",
  ),
  "from",
  "SUBJECT",
  "X",
  "X-\xff",
  "",
  " ",
  "Content-Type",
  "content-transfer-encoding",
  "\xa0From",
  "Subject\0",
];

const encodedWords = [
  "=?utf-8?Q?Doe,_J?=",
  "=?utf-8?B?w7w=?=",
  "=?utf-8?B?w7?=",
  "=?utf-8?Q?=C3?=",
  "=?utf-8?q?=BC?=",
  "=?x?B??=",
  "=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=",
  "=?utf-7?Q?+AOQ-?=",
  "=?utf-8?Q?=00=0D=0A?=",
  "=?utf-8?B?7aC9?=",
  "=?us-ascii?q?",
  "=?utf-8*en?Q?=22:;<(?=",
  "?=",
  "=?",
  "=?utf-8?Q?=3D=3Futf-8=3FQ=3Fa=3F=3D?=",
];

const addresses = [
  ...encodedWords,
  "<a@x.example>",
  "a@x.example",
  "Jane Doe <jane@x.example>",
  '"Doe, Jane" <jane@x.example>',
  "MAILER-DAEMON",
  "bob",
  "<>",
  "root (Cron Daemon)",
  "<@a.example,@b.example:c@d.example>",
  "group: a@x, b@y;",
  "undisclosed-recipients:;",
  "a:",
  ",",
  ";",
  '"',
  "(",
  ")",
  "<",
  ">",
  "@",
  "\\",
  "\xfc@x.example",
  "\xc3\xbc@x.example",
  "a b@c d",
  "<<a@b>>",
  '"a"@b',
  "a@[127.0.0.1]",
  `${"l".repeat(600)}@x.example`,
  "\x1b[31m",
  "\u00a0",
  "\t",
];

const fieldValues = [
  ...encodedWords,
  "<1@x.example>",
  "<2@x.example>",
  '<"a>b"@x>',
  "<a b@x>",
  "1@x",
  "<",
  ">",
  '<"',
  "\\",
  "(comment (nested))",
  "Re: Hello",
  "Mon, 32 Foo 2026 99:99:99 +9999",
  "Thu, 1 Jan 1970 00:00:00 +0000",
  "a/b",
  "text/plain",
  "text/html",
  "base64",
  "\xff\xfe",
  "\xc3\xbc",
  "\xe2\x80\xa8",
  "\x00",
  "\x1b",
  "x".repeat(1100),
  " ",
  "\t",
  "5 parcels",
  ",",
  ";",
  "=",
  '"',
  "1.0",
  "\u00a0",
];

const types = [
  ..."text/plain text/plain text/html text/html application/pdf image/png message/rfc822 message/delivery-status".split(
    " ",
  ),
  ..."text/calendar text/csv text/markdown text/enriched text/x-amp-html application/x-uuencode text TEXT/HTML".split(
    " ",
  ),
  "a/b",
  "text/plain charset=utf-8",
  "text/html,;x",
  "text/plain (c)",
  "",
  ";",
  `a/b${",".repeat(300)}y\xe2\x80\xa8x`,
  "application/ms-tnef",
];

const charsets = [
  ..."utf-8 us-ascii iso-8859-1 windows-1252 utf-7 utf-16le iso-2022-jp iso-2022-kr gb18030 hz-gb-2312 koi8-r cp850".split(
    " ",
  ),
  ..."ibm437 x-unknown shift_jis UTF8 unicode-1-1-utf-7 big5".split(" "),
];

const given = [
  ...charsets.map((charset) => `charset=${charset}`),
  "format=flowed",
  "format=flowed; delsp=yes",
  "name=a.txt",
  'name="=?utf-8?Q?=2E=2E?="',
  "filename=../../etc/passwd",
  'filename=". ."',
  "filename*=utf-8''%00%2e%2e%2f",
  "filename*0=a; filename*1*=%41",
  'filename="C:\\TEMP\\x.png"',
  "filename=",
  'name="a',
  "name*1*=x",
  'name="\xe2\x80\xaegpj.exe"',
  'filename="a\r\n b"',
  "boundary=b",
  "method=REQUEST",
  "x",
  "=",
  `name=${"n".repeat(400)}`,
  "a(b)=c",
];

const encodings = [
  "base64",
  "base64",
  "quoted-printable",
  "quoted-printable",
  "7bit",
  "8bit",
  "binary",
  "x-uuencode",
  "(c) base64",
  "BASE64 ",
  "",
];

const dispositions = [
  "attachment",
  "attachment",
  "inline",
  "ATTACHMENT",
  "form-data",
  "",
  '"attachment"',
  "(c) attachment",
];

const texts = [
  "Hello ",
  "word",
  " ",
  "\t",
  "\r\n",
  "\n",
  "\r",
  "\r\n\r\n",
  "-- \r\n",
  "> quoted\r\n",
  ">> deeper \r\n",
  "> \r\n",
  "line \r\n",
  "--",
  "--b",
  "\xfc",
  "\xc3\xbc",
  "\xe2\x82\xac",
  "\xff\xfe",
  "\x00",
  "\x1b$B",
  "\x1b(B",
  "\x0e",
  "~{",
  "+AOQ-",
  "\xf0\x9f\x98\x80",
  "\xed\xa0\x80",
  "begin 644 a.bin\r\n#0V%T\r\n`\r\nend\r\n",
  "\x0c",
  "\x08",
  "\xef\xbb\xbf",
  "\xe2\x80\xa8",
  "https://x.example/?a=1",
  "From eve",
  "\r\r\n",
];

const markup = [
  "<p>",
  "</p>",
  "<div>",
  "</div>",
  "<br>",
  "<ul><li>",
  "</ul>",
  "<ol start=9>",
  "<blockquote>",
  "</blockquote>",
  "<table><tr><td>",
  "</table>",
  "<a href=x>",
  "<a ",
  "href=x ",
  "</a>",
  "<img src=cid:1 alt='a>b'>",
  "<script>",
  "</script>",
  "<style>",
  "<!--",
  "-->",
  "<!",
  "&amp;",
  "&",
  "&#x1F600;",
  "&#0;",
  "&nbsp;",
  "<",
  ">",
  '"',
  "'",
  "=",
  "word ",
  "<meta charset=koi8-r>",
  "<html><head>",
  "<body>",
  "<pre>",
  "<p title='",
  "<svg>",
  "</",
  "<x:y>",
  "<td colspan=1000000>",
  "<hr>",
  "\r\n",
  "\xa0",
];

const coded = [
  "SGVsbG8=",
  "SGVsbG8",
  "AA==",
  "=",
  "====",
  "/9j/4AAQ",
  "\r\n",
  "=C3=BC",
  "=3D",
  "=\r\n",
  "=\n",
  "= \r\n",
  "=0",
  "=GG",
  "word",
  " ",
  "_",
  "M86%A86%A86%A86%A86%A86%A86%A86%A86%A86%A86%A86%A86%A86%A86%A\r\n",
  "begin 666 \r\n",
  "end",
  "`",
  "A=",
  "\x80",
  "!",
];
