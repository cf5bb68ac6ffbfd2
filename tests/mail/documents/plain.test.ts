import { expect, test } from "bun:test";
import { docxOf, odfOf, xlsxOf } from "../../support/documents/office.ts";
import { drawn, pdfOf } from "../../support/documents/pdf.ts";
import { readAs, reasonOf, textIn } from "../../support/documents/read.ts";
import { zipOf } from "../../support/documents/zip.ts";
import { mailOf } from "../../support/mail.ts";

const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
const utf32 = (text: string) => {
  const units = Uint32Array.from([...`\ufeff${text}`], (letter) => letter.codePointAt(0) ?? 0);
  return new Uint8Array(units.buffer);
};
const calendar = (...lines: string[]) => ["BEGIN:VCALENDAR", ...lines, "END:VCALENDAR"].join("\r\n");
const event = (...lines: string[]) => calendar("BEGIN:VEVENT", ...lines, "END:VEVENT");

const mail = (type: string, body: string, encoding = "8bit") =>
  `Subject: a\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`;

test.each<[name: string, content: string | Uint8Array, kind: string, text: string]>([
  ["a.txt", "One\r\nTwo\r\n", "text", "One\nTwo"],
  ["a.txt", Buffer.from("caf\xe9", "latin1"), "text", "café"],
  ["a.txt", utf16("Größe"), "text", "Größe"],
  ["a.txt", "", "text", ""],
  ["data.json", '{"a": 1}', "text", '{"a": 1}'],
  ["a.csv", "name,age\nAda,36\n", "csv", "name,age\nAda,36"],
  ["a.tsv", "name\tage", "csv", "name\tage"],
  ["a.csv", utf16("Müller;7"), "csv", "Müller;7"],
  ["a.csv", utf32("Müller;7\n🎉;8"), "csv", "Müller;7\n🎉;8"],
  ["a.csv", "\ufeffname,age\n", "csv", "name,age"],
  ["a.csv", Buffer.from("Gro\xdf;1", "latin1"), "csv", "Groß;1"],
  ["a.csv", '"Doe, Jane","says ""hi"""\n', "csv", '"Doe, Jane","says ""hi"""'],
  ["a.csv", '"two\nlines",1\n', "csv", '"two\nlines",1'],
  ["a.csv", "a;b\rc;d\r", "csv", "a;b\nc;d"],
  ["a.csv", "=HYPERLINK(1),\x07x", "csv", "=HYPERLINK(1),x"],
  ["a.html", "<h1>Hi</h1><style>p{}</style><p>One<br>Two", "html", "Hi\n\nOne\nTwo"],
  ["a.html", '<p>a<span style="font-size:0">gone</span></p>', "html", "a"],
  ["a.html", "<table><tr><td>Item<td>Price<tr><td>Tea<td>3</table>", "html", "Item | Price\nTea | 3"],
  ["a.html", "<ul><li>One<li>Two</ul>", "html", "* One\n* Two"],
  ["a.html", "<p hidden>gone</p><p>here</p>", "html", "here"],
  ["a.html", '<p style="color:#fff;background:#ffffff">gone</p>here', "html", "here"],
  ["a.html", "<script>gone()</script><!-- gone -->here<template>gone</template>", "html", "here"],
  ["a.html", "caf&eacute; &#x1F389; &lt;b&gt;", "html", "café 🎉 <b>"],
  ["a.html", utf16("<p>Größe</p>"), "html", "Größe"],
  ["a.html", Buffer.from('<meta charset="iso-8859-2"><p>\xb1', "latin1"), "html", "ą"],
  [
    "a.ics",
    event("SUMMARY:Lunch", "DTSTART;TZID=Europe/Berlin:20260321T120000"),
    "ics",
    "VEVENT\nSUMMARY: Lunch\nDTSTART: 20260321T120000 (Europe/Berlin)",
  ],
  ["a.ics", event("DESCRIPTION:one\\ntw", " o\\, three"), "ics", "VEVENT\nDESCRIPTION: one\ntwo, three"],
  [
    "a.ics",
    event('ATTENDEE;CN="Doe: Jane";PARTSTAT=ACCEPTED:mailto:jane@example.com'),
    "ics",
    "VEVENT\nATTENDEE: Doe: Jane <jane@example.com> (ACCEPTED)",
  ],
  [
    "a.ics",
    calendar("BEGIN:VTIMEZONE", "DTSTART:19700101T000000", "END:VTIMEZONE", "X-SECRET:gone", "METHOD:REQUEST"),
    "ics",
    "METHOD: REQUEST",
  ],
  [
    "a.ics",
    event("LOCATION:Room 1\\; floor 2", "URL:https://example.com/a"),
    "ics",
    "VEVENT\nLOCATION: Room 1; floor 2\nURL: https://example.com/a",
  ],
  [
    "a.ics",
    event("SUMMARY:One", "END:VEVENT", "BEGIN:VEVENT", "SUMMARY:Two"),
    "ics",
    "VEVENT\nSUMMARY: One\n\nVEVENT\nSUMMARY: Two",
  ],
  ["a.ics", event("RRULE:FREQ=WEEKLY;COUNT=3"), "ics", "VEVENT\nRRULE: FREQ=WEEKLY;COUNT=3"],
  [
    "a.ics",
    calendar("BEGIN:VTODO", "SUMMARY:Call Ann", "DUE;VALUE=DATE:20260401", "END:VTODO"),
    "ics",
    "VTODO\nSUMMARY: Call Ann\nDUE: 20260401",
  ],
  ["a.ics", event("summary;language=de:Größe"), "ics", "VEVENT\nSUMMARY: Größe"],
  ["a.ics", event("ORGANIZER:mailto:jane@example.com"), "ics", "VEVENT\nORGANIZER: jane@example.com"],
  [
    "a.eml",
    mailOf({ subject: "Your order", headers: ["Cc: joe@example.com"] }),
    "eml",
    "From: Jane Doe <jane@example.com>\nTo: ada@inbox.localhost\nCc: joe@example.com\nSubject: Your order\n\nHello Ada",
  ],
  [
    "a.eml",
    "Subject: A file\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=b.txt\r\n\r\nwords",
    "eml",
    "Subject: A file\n\nFiles: b.txt",
  ],
  ["a.eml", "Subject: =?utf-8?q?Gr=C3=B6=C3=9Fe?=\r\n\r\na", "eml", "Subject: Größe\n\na"],
  ["a.eml", mail("text/plain; charset=utf-8", "R3LDtsOfZQ==", "base64"), "eml", "Subject: a\n\nGröße"],
  ["a.eml", mail("text/plain; charset=iso-8859-1", "Gr=F6=DF=\r\ne", "quoted-printable"), "eml", "Subject: a\n\nGröße"],
  ["a.eml", mail("text/html", "<p>Hi<p style=display:none>gone"), "eml", "Subject: a\n\nHi"],
  ["a.eml", mail("text/plain; format=flowed", "one \r\ntwo"), "eml", "Subject: a\n\none two"],
  [
    "a.eml",
    mail(
      "multipart/alternative; boundary=b",
      "--b\r\n\r\nplain\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>rich\r\n--b--",
    ),
    "eml",
    "Subject: a\n\nplain",
  ],
  [
    "a.eml",
    mail(
      "multipart/mixed; boundary=b",
      "--b\r\n\r\nhere\r\n--b\r\nContent-Type: application/pdf; name=bill.pdf\r\n\r\n%PDF\r\n--b--",
    ),
    "eml",
    "Subject: a\n\nhere\n\nFiles: bill.pdf",
  ],
  [
    "a.eml",
    mail(
      "multipart/mixed; boundary=b",
      "--b\r\n\r\nsee below\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\nwords\r\n--b--",
    ),
    "eml",
    "Subject: a\n\nsee below\n\nFiles: attachment-1.eml",
  ],
])("%s: %p", async (name, content, kind, text) => {
  expect(await textIn(name, content)).toMatchObject({ kind, text, pages: [], truncated: false });
});

const docx = docxOf("<w:p><w:r><w:t>a</w:t></w:r></w:p>");

test.each<[about: string, name: string, content: string | Uint8Array, contentType: string, kind: string]>([
  ["the bytes win over the name", "a.txt", docx, "text/plain", "docx"],
  ["the bytes win over the name", "a.docx", pdfOf([drawn(["a"])]), "application/zip", "pdf"],
  ["the bytes win over the name", "a.doc", "{\\rtf1 a}", "application/msword", "rtf"],
  ["the bytes win over the name", "a.txt", "BEGIN:VCALENDAR\r\nEND:VCALENDAR", "text/plain", "ics"],
  ["the bytes win over the name", "a", "\ufeff <!-- a -->\n<HTML>", "text/plain", "html"],
  ["the bytes win over the name", "a.zip", odfOf("ods", ""), "application/zip", "ods"],
  ["the name wins over the label", "a.csv", "a", "text/html", "csv"],
  ["the label helps without a name", "a", "a", "text/csv", "csv"],
  ["the label helps without a name", "attachment-1", "Subject: a\r\n\r\na", "message/rfc822", "eml"],
  ["text is what has no other kind", "a.xyz", "a", "application/octet-stream", "text"],
])("%s: %s", async (_about, name, content, contentType, kind) => {
  expect(await readAs(name, content, contentType)).toMatchObject({ kind });
});

const compoundFile = (words: string) =>
  Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(512), Buffer.from(words, "utf16le")]);

test.each<[about: string, name: string, content: string | Uint8Array, reason: string]>([
  ["a picture", "a.png", Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\r", "latin1"), "unsupported"],
  ["an archive of other files", "a.zip", zipOf({ "a.txt": "a" }), "unsupported"],
  ["a document of old Office", "a.doc", compoundFile("WordDocument"), "unsupported"],
  ["a document of Office with a password", "a.docx", compoundFile("EncryptedPackage"), "encrypted"],
  ["an archive with a password", "a.docx", zipOf({ "word/document.xml": "a" }, { flags: 1 }), "encrypted"],
  ["an archive of an unknown method", "a.docx", zipOf({ "word/document.xml": "a" }, { method: 12 }), "unsupported"],
  ["a document that is cut", "a.docx", docx.subarray(0, docx.length - 30), "damaged"],
  ["a document whose parts are cut", "a.docx", damaged(docx), "damaged"],
  ["an archive without a document", "a.xlsx", zipOf({ "a.txt": "a" }), "damaged"],
  ["a name without its bytes", "a.pdf", "no pdf", "damaged"],
  ["a name without its bytes", "a.xlsx", "no archive", "damaged"],
  ["binary data with a name of text", "a.txt", new Uint8Array(100), "damaged"],
])("%s has no text: %s", async (_about, name, content, reason) => {
  expect(reasonOf(await readAs(name, content))).toBe(reason);
});

/** The archive with an octet of its first part changed. */
function damaged(zip: Uint8Array): Uint8Array {
  const copy = new Uint8Array(zip);
  const start = 30 + "[Content_Types].xml".length + "<Types/>".length + 60;
  copy.fill(0xff, start, start + 200);
  return copy;
}

test("a text beyond the limit is cut, and says so", async () => {
  const { text, truncated } = await textIn("a.txt", "🎉".repeat(2 * 1024 * 1024 + 1));
  expect([[...text].length, truncated]).toEqual([2 * 1024 * 1024, true]);
});

test("a document has at most 1,000 pages", async () => {
  const sheets = Array.from({ length: 1001 }, (_, index) => ({ name: `s${index}`, data: "" }));
  expect((await textIn("a.xlsx", xlsxOf(sheets))).pages).toHaveLength(1000);
});
