/**
 * Mails of five kinds, as people and services write them. Their sentences are those of our own guides, so words are as frequent and as rare
 * as in a language; names, numbers, links and header fields differ from mail to mail.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const mailKinds = ["text", "reply", "notice", "newsletter", "file"] as const;
export type MailKind = (typeof mailKinds)[number];

/** What each kind is. */
export const kindMeanings: Readonly<Record<MailKind, string>> = {
  text: "5 KiB of text",
  reply: "an answer of a few sentences above the quoted mail, three in a thread",
  notice: "a notification of a service: a short text and 8 KiB of HTML",
  newsletter: "3 KiB of text and 30 KiB of HTML with links that are counted",
  file: "a few sentences and a file of 75 kB that is compressed already",
};

export interface RealMail {
  kind: MailKind;
  /** The number of the mail within its kind. Mails with one number are equal, except for the bytes of files. */
  number: number;
  to: string;
  /** The number of inboxes. The mail before this one in the same inbox has a number that is lower by this. */
  inboxes: number;
}

export function realMail({ kind, number, to, inboxes }: RealMail): string {
  const random = randomOf(kind, number, 0);
  const sender = senderOf(random);
  const isList = kind === "newsletter";
  const isReply = kind === "reply" && placeInThread(number, inboxes) > 0;
  const parent = idOf(kind, number - inboxes);
  const first = kind === "reply" ? number - placeInThread(number, inboxes) * inboxes : number;
  const subject = subjectOf(randomOf(kind, first, 1));
  const fields = [
    ...receivedFields(random, to),
    signatureField(random, sender.domain),
    `From: ${sender.name} <${sender.address}>`,
    `To: ${to}`,
    `Subject: ${isReply ? "Re: " : ""}${subject}`,
    `Date: ${new Date(Date.UTC(2026, 2, 21) + number * 1000).toUTCString().replace("GMT", "+0000")}`,
    `Message-ID: ${idOf(kind, number)}`,
    ...(isReply ? [`In-Reply-To: ${parent}`, `References: ${parent}`] : []),
    ...(isList
      ? [
          `List-Unsubscribe: <https://news.example.net/u/${token(random, 40)}>`,
          "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
          "List-ID: <weekly.news.example.net>",
          "Precedence: bulk",
        ]
      : []),
    "MIME-Version: 1.0",
  ];
  // A line that begins with a dot gets another one, as SMTP wants it.
  return `${fields.join("\r\n")}\r\n${bodyOf(kind, number, inboxes, random)}`.replace(/^\./gm, "..");
}

function bodyOf(kind: MailKind, number: number, inboxes: number, random: Random): string {
  const letterOf = (sent: number, bytes: number) => letter(randomOf(kind, sent, 2), bytes);
  switch (kind) {
    case "text":
      return plainPart(letterOf(number, 5 << 10));
    case "reply": {
      const own = letterOf(number, 500);
      if (placeInThread(number, inboxes) === 0) return plainPart(own);
      const quoted = letterOf(number - inboxes, 500).replace(/^/gm, "> ");
      return plainPart(`${own}\n\nOn 21 March 2026 somebody wrote:\n${quoted}`);
    }
    case "notice":
      return alternatives(random, letterOf(number, 600), 8 << 10);
    case "newsletter":
      return alternatives(random, letterOf(number, 3 << 10), 30 << 10);
    case "file":
      return withFile(random, letterOf(number, 600));
  }
}

function plainPart(text: string): string {
  return `Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n${wrapped(text)}\r\n`;
}

function alternatives(random: Random, text: string, htmlBytes: number): string {
  const boundary = `=_${token(random, 24)}`;
  const html = `Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\n\r\n${htmlOf(random, htmlBytes)}`;
  return multipart("alternative", boundary, [plainPart(text), html]);
}

function withFile(random: Random, text: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(50_000));
  const more = crypto.getRandomValues(new Uint8Array(25_000));
  const encoded = Buffer.concat([bytes, more]).toString("base64").replace(/.{76}/g, "$&\r\n");
  const name = `invoice-${digits(random, 6)}.pdf`;
  const file = `Content-Type: application/pdf; name="${name}"\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="${name}"\r\n\r\n${encoded}\r\n`;
  return multipart("mixed", `=_${token(random, 24)}`, [plainPart(text), file]);
}

function multipart(type: string, boundary: string, parts: readonly string[]): string {
  const all = parts.map((part) => `--${boundary}\r\n${part}`).join("\r\n");
  return `Content-Type: multipart/${type}; boundary="${boundary}"\r\n\r\n${all}\r\n--${boundary}--\r\n`;
}

/** A letter of about this length: a greeting, paragraphs with a number and a link among them, and a name. */
function letter(random: Random, bytes: number): string {
  const paragraphs = [`Hi ${one(random, firstNames)},`];
  for (let length = 0; length < bytes; ) {
    const paragraph = Array.from({ length: 2 + Math.floor(random() * 3) }, () => one(random, sentences())).join(" ");
    paragraphs.push(paragraph);
    length += paragraph.length;
  }
  paragraphs.splice(2, 0, `Your order ${digits(random, 8)}: https://app.example.com/orders/${token(random, 12)}`);
  return [...paragraphs, `Best,\n${one(random, firstNames)} ${one(random, lastNames)}`].join("\n\n");
}

/** HTML of about this size as mail programs need it: tables, styles at each element, and links of which each has its own token. */
function htmlOf(random: Random, bytes: number): string {
  const blocks: string[] = [];
  for (let length = 0; length < bytes; ) {
    const block = [
      '<tr><td style="padding:12px 24px;font-family:Arial,Helvetica,sans-serif;font-size:14px;line-height:20px;color:#333333">',
      `<h2 style="margin:0 0 8px;font-size:18px;color:#111111">${subjectOf(random)}</h2>`,
      `<p style="margin:0 0 12px">${one(random, sentences())}</p>`,
      `<a href="https://click.example.net/c/${token(random, 64)}" style="color:#0b5fff;text-decoration:none">Read more</a>`,
      "</td></tr>",
    ].join("\r\n");
    blocks.push(block);
    length += block.length;
  }
  const open = `<img src="https://click.example.net/o/${token(random, 64)}.gif" width="1" height="1" alt="">`;
  return `<!DOCTYPE html>\r\n<html><body style="margin:0;background:#f4f4f4">\r\n<table role="presentation" width="600" cellpadding="0" cellspacing="0">\r\n${blocks.join("\r\n")}\r\n</table>\r\n${open}\r\n</body></html>\r\n`;
}

function receivedFields(random: Random, to: string): string[] {
  const hop = (from: string, by: string) =>
    `Received: from ${from} (${from} [192.0.2.${Math.floor(random() * 250)}])\r\n\tby ${by} with ESMTPS id ${token(random, 16)}\r\n\tfor <${to}>; Sat, 21 Mar 2026 10:05:00 +0000 (UTC)`;
  return [hop("out.example.com", "mx.example.org"), hop("app-7.example.com", "out.example.com")];
}

function signatureField(random: Random, domain: string): string {
  return `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=${domain}; s=s2026;\r\n\th=from:to:subject:date:message-id:mime-version; bh=${token(random, 43)}=;\r\n\tb=${token(random, 70)}\r\n\t ${token(random, 70)}\r\n\t ${token(random, 70)}\r\n\t ${token(random, 70)}\r\n\t ${token(random, 62)}==`;
}

function senderOf(random: Random): { name: string; address: string; domain: string } {
  const [first, last] = [one(random, firstNames), one(random, lastNames)];
  const domain = `company${Math.floor(random() * 500)}.example.com`;
  return { name: `${first} ${last}`, address: `${first}.${last}@${domain}`.toLowerCase(), domain };
}

function subjectOf(random: Random): string {
  const words = one(random, sentences())
    .replace(/[^\w ]/g, "")
    .split(" ");
  return `${words.slice(0, 5).join(" ")} ${digits(random, 4)}`;
}

function idOf(kind: MailKind, number: number): string {
  return `<${kind}.${number}.${process.pid}.${Math.trunc(performance.timeOrigin)}@mail.example.com>`;
}

/** How many mails are before this one in its thread, which has three. */
function placeInThread(number: number, inboxes: number): number {
  return Math.floor(number / inboxes) % 3;
}

/** The text in lines of at most 72 characters, but for longer words. */
function wrapped(text: string): string {
  const lines = text.split("\n").flatMap((line) => line.match(/.{1,72}(?: |$)|\S+/g) ?? [""]);
  return lines.map((line) => line.trimEnd()).join("\r\n");
}

type Random = () => number;

/** Random numbers from 0 to 1, the same for the same part of a mail (mulberry32). */
function randomOf(kind: MailKind, number: number, part: 0 | 1 | 2): Random {
  let state = (mailKinds.indexOf(kind) + 1) * 0x1000_0000 + number * 3 + part;
  return () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function one(random: Random, choices: readonly string[]): string {
  return choices[Math.floor(random() * choices.length)] ?? "";
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function token(random: Random, length: number): string {
  return Array.from({ length }, () => base62[Math.floor(random() * base62.length)]).join("");
}

function digits(random: Random, length: number): string {
  return Array.from({ length }, () => Math.floor(random() * 10)).join("");
}

const firstNames =
  "Ada Ben Clara David Eva Frank Grace Hedy Ivan Jane Karl Lena Max Nora Otto Paula Ruth Sam Tina Walt".split(" ");
const lastNames =
  "Adams Baker Clark Diaz Evans Fischer Garcia Hopper Ivanov Jones Kim Lamarr Miller Novak Olsen Patel Rossi Smith Turing Weber".split(
    " ",
  );

let known: string[] | undefined;

/** The sentences of the guides, without code, tables and addresses of links. */
function sentences(): readonly string[] {
  known ??= readSentences();
  return known;
}

function readSentences(): string[] {
  const docs = join(import.meta.dir, "../../docs");
  const pages = readdirSync(docs).filter((name) => name.endsWith(".md"));
  return pages.flatMap((page) =>
    readFileSync(join(docs, page), "utf8")
      .replace(/^```[\s\S]*?^```/gm, "")
      .replace(/^(?:\||#|<!--).*$/gm, "")
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[`*]/g, "")
      .split(/\n\s*\n|^- /m)
      .flatMap((paragraph) =>
        paragraph
          .replace(/\s+/g, " ")
          .trim()
          .split(/(?<=[.!?]) /),
      )
      .filter((sentence) => sentence.length > 30 && sentence.length < 300 && /^[\x20-\x7e]+$/.test(sentence)),
  );
}
