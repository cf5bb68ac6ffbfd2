import { expect, test } from "bun:test";
import { docxOf, odfOf, xlsxOf } from "../../support/documents/office.ts";
import { drawn, pdfOf } from "../../support/documents/pdf.ts";
import { readAs, reasonOf, textIn } from "../../support/documents/read.ts";
import { zipOf } from "../../support/documents/zip.ts";
import { mailOf } from "../../support/mail.ts";

const utf16 = (text: string) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]);
const calendar = (...lines: string[]) => ["BEGIN:VCALENDAR", ...lines, "END:VCALENDAR"].join("\r\n");
const event = (...lines: string[]) => calendar("BEGIN:VEVENT", ...lines, "END:VEVENT");

test.each<[name: string, content: string | Uint8Array, kind: string, text: string]>([
  ["a.txt", "One\r\nTwo\r\n", "text", "One\nTwo"],
  ["a.txt", Buffer.from("caf\xe9", "latin1"), "text", "café"],
  ["a.txt", utf16("Größe"), "text", "Größe"],
  ["a.txt", "", "text", ""],
  ["data.json", '{"a": 1}', "text", '{"a": 1}'],
  ["a.csv", "name,age\nAda,36\n", "csv", "name,age\nAda,36"],
  ["a.tsv", "name\tage", "csv", "name\tage"],
  ["a.csv", utf16("Müller;7"), "csv", "Müller;7"],
  ["a.html", "<h1>Hi</h1><style>p{}</style><p>One<br>Two", "html", "Hi\n\nOne\nTwo"],
  ["a.html", '<p>a<span style="font-size:0">gone</span></p>', "html", "a"],
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
