/**
 * Relays mails of 10 MB, or streams a file of that size to the same relay: `bun bench/relaying-files.ts mails|file PORT COUNT
 * AT_ONCE`. Says how many a second, and by how much memory grew meanwhile.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, openDatabase } from "../src/database/db.ts";
import type { OutgoingMail } from "../src/domain/message.ts";
import { readyMail } from "../src/flows/send/ready-mail.ts";
import { dkimSigner } from "../src/mail/write/dkim.ts";
import { smtpRelay } from "../src/relay/relay.ts";
import type { MailBody } from "../src/relay/relayed-mail.ts";
import { chunksOf, insertSources } from "../src/store/mail/sources.ts";
import { migrate } from "../src/store/migrate.ts";

const [what, port, count, atOnce] = process.argv.slice(2);
const fileBytes = 10_000_000;
const directory = mkdtempSync(join(tmpdir(), "ibx-files-"));
const bytes = crypto.getRandomValues(new Uint8Array(65_536));
const content = new Uint8Array(fileBytes).map((_, index) => (bytes[index % bytes.length] ?? 0) ^ (index >> 16));

const relay = smtpRelay(
  { kind: "smtp", host: "127.0.0.1", port: Number(port), tls: "off", login: undefined },
  { hostname: "bench.localhost" },
);
const db = await openDatabase({ url: process.env.DATABASE_URL, dataDir: process.env.DATA_DIR ?? directory });
try {
  const one = what === "mails" ? await mailsOf(db) : await fileOf();
  // The first mails warm it up.
  await inTurns(Number(atOnce), one);
  Bun.gc(true);
  const beforeBytes = process.memoryUsage.rss();
  let mostBytes = beforeBytes;
  const watching = setInterval(() => {
    mostBytes = Math.max(mostBytes, process.memoryUsage.rss());
  }, 2);
  const startMs = performance.now();
  await inTurns(Number(count), one);
  const perSecond = (Number(count) * 1000) / (performance.now() - startMs);
  clearInterval(watching);
  console.log(JSON.stringify({ perSecond, grownBytes: mostBytes - beforeBytes }));
} finally {
  await relay.close();
  await db.close();
  rmSync(directory, { recursive: true });
}

async function inTurns(rounds: number, one: () => Promise<void>): Promise<void> {
  let left = rounds;
  const run = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: Number(atOnce) }, run));
}

async function handOn(body: MailBody): Promise<void> {
  const recipients = [{ address: "jane@example.com" }];
  const [outcome] = await relay.send({ envelopeFrom: "bot@bench.localhost", recipients, body, smtpUtf8: false });
  if (outcome?.kind !== "sent") throw new Error(`Cannot measure: ${JSON.stringify(outcome)}`);
}

/** As in the service: from the store, signed, through the spool. */
async function mailsOf(on: Database): Promise<() => Promise<void>> {
  await migrate(on);
  const sourceId = `src_${crypto.randomUUID().replaceAll("-", "")}`.slice(0, 30);
  await insertSources(on.work, [{ id: sourceId, shares: 1, chunks: await chunksOf(0, content) }]);
  const { privateKey } = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey)).toBase64();
  const privateKeyPem = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----`;
  const signing = await dkimSigner({ domain: "bench.localhost", selector: "s", privateKeyPem });
  const file = { filename: "a.bin", contentType: "application/octet-stream", inline: false, contentId: undefined };
  const mail: OutgoingMail = {
    messageId: "1@bench.localhost",
    date: new Date(),
    from: { address: "bot@bench.localhost" },
    to: [{ address: "jane@example.com" }],
    cc: [],
    replyTo: undefined,
    subject: "Files",
    bodyText: "See there",
    bodyHtml: undefined,
    inReplyTo: undefined,
    references: [],
    autoSubmitted: undefined,
    headers: [],
    attachments: [{ ...file, sizeBytes: content.length, sourceId, part: 0 }],
  };
  const deps = {
    spoolDirectory: directory,
    randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
  };
  return async () => {
    const body = await readyMail(deps, on.work, mail, signing);
    try {
      await handOn(body);
    } finally {
      await body.close();
    }
  };
}

/** A file with the bytes of such a mail on the wire. */
async function fileOf(): Promise<() => Promise<void>> {
  const path = join(directory, "mail");
  const lines = content.toBase64().replaceAll(/.{76}/g, "$&\r\n");
  await Bun.write(path, `Subject: Files\r\n\r\n${lines}\r\n`);
  const file = Bun.file(path);
  return () => handOn({ sizeBytes: file.size, open: () => file.stream() });
}
