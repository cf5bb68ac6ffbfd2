/**
 * `bun bench/extraction.ts`: what extraction costs. First the processor's time of one mail: of an ordinary one, of a long newsletter, and
 * of each flood that a stranger could send. Then a page of 50 messages over HTTP with `include=extracted` beside the same page without, in
 * turns, on Postgres, or with DATABASE=embedded on the other database. The service remembers what it has extracted, so pages that nobody
 * has read before are measured, too.
 */
import { openDatabase } from "../src/database/db.ts";
import { type ExtractedFrom, extractionOf } from "../src/extract/extract.ts";
import { onEngine, startDatabase } from "./support/database.ts";
import { load, median } from "./support/load.ts";
import { report } from "./support/report.ts";
import { seedInbox } from "./support/seed.ts";
import { startServiceProcess } from "./support/service.ts";

const seconds = Number(process.env.SECONDS ?? 2);
const rounds = Number(process.env.ROUNDS ?? 5);
const kib = 1024;

const plain = {
  direction: "inbound",
  subject: "Re: Your order",
  bodyText: "",
  bodyHtml: null,
  inReplyTo: null,
} as const;

function filled(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

const sentence = "The parcel left on Monday and is on its way to you, as was agreed last week.\n";

/** Text, two links, a code, and a quote below. */
function ordinaryMail(length: number): ExtractedFrom {
  const words = filled(sentence, length / 4);
  const text = `Your verification code is 482913.\n\n${words}\nhttps://example.com/orders/1\n\nOn Mon, 3 Mar 2025 at 10:00, Ann <ann@example.com> wrote:\n${words.replaceAll(/^/gm, "> ")}`;
  const html = `<div><p>Your verification code is <b>482913</b>.</p><p>${words}</p><a href="https://example.com/orders/1">See your order</a></div><div class="gmail_quote"><blockquote>${words}</blockquote></div>`;
  return { ...plain, bodyText: text, bodyHtml: html };
}

/** A newsletter with tables, styles and links. */
function newsletter(length: number): ExtractedFrom {
  const row = (number: number) =>
    `<tr><td style="padding:8px 0;font-family:Arial,sans-serif;font-size:14px;color:#333333;background-color:#ffffff"><a href="https://example.com/p/${number}?utm=1&amp;x=2" style="color:#0066cc;text-decoration:none">Product ${number} is here</a> and costs <b>12.99</b> now.</td><td align="right"><img src="https://example.com/${number}.png" alt="picture"></td></tr>\n`;
  const rows: string[] = [];
  for (let number = 0, made = 0; made < length; number++) made += (rows[rows.push(row(number)) - 1] ?? "").length;
  const text = rows.map(
    (_, number) => `Product ${number} is here (https://example.com/p/${number}?utm=1&x=2) and costs 12.99 now.`,
  );
  return {
    ...plain,
    subject: "News",
    bodyText: text.join("\n"),
    bodyHtml: `<body><table>${rows.join("")}</table></body>`,
  };
}

const texts = [
  "1",
  "1.",
  "1 ",
  "code ",
  "code 123456\n",
  "@a ",
  "https://",
  "https://e.com/ab) ",
  "[x](https://e.com/a) ",
  "> ",
  "\n",
];
const htmls = [
  "<i>",
  "<p>",
  "<td>",
  "<li>x",
  "<a href=https://e.com/x>y",
  "<a href='&amp;&#49;'>",
  "&#x31;",
  "<b>&#x31;",
  "<p style='color:red;font-size:0'>x",
  "<blockquote>",
  "<div class=gmail_quote>x",
  "<br>1",
  "<",
  "a ",
];

/** Text and HTML together, in a reply: labels of copied headers, and near attributions. */
const both: readonly [text: string, html: string][] = [
  ["wrote:\n--\n", "<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>"],
  ["x", "<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>"],
  ["wrote:\n--\n", "<div>From: a</div><div>To: b@c</div><div>Cc: 1</div><div>Date: x</div><div>Bcc: x</div>"],
  ["wrote:\n--\n", "<div>De: a@b</div><div>Data: b</div><div>A: 1</div><div>Kopie: x</div><div>Betreff: x</div>"],
  [
    "On Tue, 3 Mar 2026 at 14:05, Jane <jane@example.com> wrote:\n",
    "<table><tr><td>x<div>From: a</div><div>Subject: b</div><div>Sent: 1</div>",
  ],
];

const floods: readonly [what: string, mail: ExtractedFrom][] = [
  ...texts.map((piece): [string, ExtractedFrom] => [
    JSON.stringify(piece),
    { ...plain, bodyText: filled(piece, 64 * kib) },
  ]),
  ...htmls.map((piece): [string, ExtractedFrom] => [
    `${JSON.stringify(piece)} as HTML`,
    { ...plain, bodyText: "x", bodyHtml: filled(piece, 256 * kib) },
  ]),
  ...both.map(([text, html]): [string, ExtractedFrom] => [
    `${JSON.stringify(text)} with ${JSON.stringify(html)} as HTML`,
    {
      ...plain,
      inReplyTo: "<1@example.com>",
      bodyText: filled(text, 64 * kib),
      bodyHtml: filled(html, 256 * kib),
    },
  ]),
  ["attributions within attributions", { ...plain, bodyText: filled(`${"On Mon, ".repeat(16)}2025 `, 64 * kib) }],
];

/** The best of a few runs, since other work on the machine is no cost of the code. */
function cpuMsOf(mail: ExtractedFrom, times = 30): number {
  const all = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    extractionOf(mail);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...all);
}

const mailsAtOnce = 50;
const seededMails = 1000;
function reportMail(what: string, mail: ExtractedFrom, atMost: number, times?: number): void {
  report({ what, value: cpuMsOf(mail, times), unit: "ms", target: { value: { atMost } } });
}

const ordinary = ordinaryMail(5 * kib);
cpuMsOf(ordinary, 200);
reportMail(
  `a mail of ${Math.round((ordinary.bodyText.length + (ordinary.bodyHtml?.length ?? 0)) / kib)} KiB`,
  ordinary,
  0.3,
  200,
);
reportMail("a newsletter of 64 KiB of HTML", newsletter(64 * kib), 5);
const costs = floods
  .map(([what, mail]) => ({ what, ms: cpuMsOf(mail, 8) }))
  .toSorted((one, other) => other.ms - one.ms);
const [worst] = costs;
report({
  what: `the worst of ${floods.length} floods of 64 KiB of text, 256 KiB of HTML, or both`,
  value: worst?.ms ?? Number.NaN,
  unit: "ms",
  target: { value: { atMost: 20 } },
  note: costs
    .slice(0, 4)
    .map(({ what, ms }) => `${what} ${ms.toFixed(1)}`)
    .join(", "),
});

const database = await startDatabase([]);
const { url, dataDir, environment } = database;
// A first start makes the account that the inboxes belong to.
await (await startServiceProcess(environment)).stop();
const inboxes = await seeded();
const service = await startServiceProcess(environment);
try {
  for (const [what, id] of inboxes)
    await reportPages(what, `${service.apiUrl}/v1/inboxes/${id}/messages?limit=${mailsAtOnce}`);
} finally {
  await service.stop();
  await database.remove();
}

async function reportPages(what: string, page: string): Promise<void> {
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const ask = async (address: string) => {
    const result = await load({ url: address, headers, connections: 1, seconds });
    if (result.statuses["200"] !== result.requests) throw new Error(`not all 200: ${JSON.stringify(result.statuses)}`);
    return result.p50Ms;
  };
  const without: number[] = [];
  const withAll: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const [plainMs, extractedMs] = [await ask(page), await ask(`${page}&include=extracted`)];
    // The first round warms up both.
    if (round === 0) continue;
    without.push(plainMs);
    withAll.push(extractedMs);
  }
  const firstReadings: number[] = [];
  for (let offset = mailsAtOnce; offset < seededMails; offset += mailsAtOnce) {
    const startedMs = performance.now();
    await (await fetch(`${page}&include=extracted&offset=${offset}`, { headers })).arrayBuffer();
    firstReadings.push(performance.now() - startedMs);
  }
  report({
    what: `page of ${mailsAtOnce} ${what} with \`include=extracted\`, p50${onEngine}`,
    value: median(withAll),
    unit: "ms",
    beside: [{ name: "without", value: median(without) }],
    target: { ratio: { atMost: 2 } },
    note: `${median(firstReadings).toFixed(2)} ms at the first reading of a page`,
  });
}

/** An inbox of short texts, and one of ordinary mails with HTML. */
async function seeded(): Promise<[what: string, id: string][]> {
  const db = await openDatabase({ url, dataDir });
  try {
    return await db.maintain(async (runner) => {
      const [account] = (await runner.run("select id from accounts", [])) as { id: string }[];
      const seed = (number: number) =>
        seedInbox(runner.script, { accountId: account?.id ?? "", number, messages: seededMails });
      const [short, long] = [await seed(1), await seed(2)];
      // The words of seeded mails look like codes.
      const write = (id: string, { bodyText, bodyHtml }: ExtractedFrom) =>
        runner.run("update messages set body_text = $1, body_html = $2 where inbox_id = $3", [bodyText, bodyHtml, id]);
      await write(short.id, { ...plain, bodyText: filled(sentence, 4 * sentence.length) });
      await write(long.id, ordinaryMail(5 * kib));
      return [
        ["short texts", short.id],
        ["mails with HTML", long.id],
      ];
    });
  } finally {
    await db.close();
  }
}
