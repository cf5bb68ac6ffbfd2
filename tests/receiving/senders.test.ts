import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { hasPostfix, startPostfixIn } from "../support/postfix.ts";
import { storedAttachments, storedBytes, storedMessages } from "../support/stored.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

/** Real mail servers and clients. Those that are not installed are skipped with a message. */
const python = found("python3");
const swaks = found("swaks");
const swaksHasTls = swaks !== undefined && /TLS supported/.test(Bun.spawnSync([swaks, "--support"]).stdout.toString());
if (swaks !== undefined && !swaksHasTls)
  console.log("Skipped: swaks, which has no TLS here (Perl's Net::SSLeay is missing)");
const postfix = hasPostfix ? "postfix" : undefined;
for (const [name, program] of Object.entries({ python, swaks, postfix }))
  if (program === undefined)
    console.log(`Skipped: ${name} is not installed here${name === "postfix" ? " for root" : ""}`);

let world: World;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "ibx-senders-"));
  chmodSync(directory, 0o755);
  world = await startWorld();
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

const file = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * index + (index >> 8)) % 256));

/** The only message of an inbox, with the bytes of its only attachment. */
async function received(inbox: WorldInbox) {
  const db = world.service.deps.db.api;
  const [message, ...more] = await storedMessages(db, inbox.id);
  if (message === undefined || more.length > 0) throw new Error(`There are ${more.length + 1} messages, or none`);
  const [attachment] = await storedAttachments(db, message.id);
  const bytes = attachment && (await storedBytes(db, attachment.sourceId, attachment.part));
  return { message, attachment, bytes };
}

test.skipIf(python === undefined)(
  "Python's smtplib: STARTTLS, an attachment, names and a subject beyond ASCII",
  async () => {
    const inbox = await world.inbox();
    const script = `
import smtplib, ssl, sys
from email.message import EmailMessage
mail = EmailMessage()
mail["From"] = "Jürgen Müller <juergen@example.com>"
mail["To"] = sys.argv[2]
mail["Subject"] = "Grüße aus Köln, " * 12
mail.set_content("Zeile eins\\n.\\n..zwei\\n")
mail.add_alternative("<p>Zeile <b>eins</b></p>", subtype="html")
mail.add_attachment(open(sys.argv[3], "rb").read(), maintype="application", subtype="pdf", filename="Übersicht.pdf")
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
with smtplib.SMTP("127.0.0.1", int(sys.argv[1])) as smtp:
    smtp.starttls(context=context)
    smtp.send_message(mail)
`;
    const path = join(directory, "file.pdf");
    writeFileSync(path, file);
    await run([python ?? "", "-c", script, String(world.smtpPort), inbox.address, path]);
    const { message, attachment, bytes } = await received(inbox);
    expect(message).toMatchObject({
      fromName: "Jürgen Müller",
      fromAddr: "juergen@example.com",
      subject: "Grüße aus Köln, ".repeat(12).trim(),
      bodyText: "Zeile eins\n.\n..zwei\n",
    });
    expect(message.bodyHtml).toContain("<b>eins</b>");
    expect(attachment).toMatchObject({ filename: "Übersicht.pdf", contentType: "application/pdf" });
    expect(bytes?.equals(file)).toBe(true);
  },
);

test.skipIf(!swaksHasTls)("swaks: over TLS with pipelining", async () => {
  const inbox = await world.inbox();
  const path = join(directory, "swaks.pdf");
  writeFileSync(path, file);
  const words = [
    swaks ?? "",
    "--server",
    `127.0.0.1:${world.smtpPort}`,
    "--to",
    inbox.address,
    "--from",
    "jane@example.com",
    "--tls",
    "--pipeline",
    "--header",
    "Message-Id: <swaks@example.com>",
    "--header",
    "Date: Sat, 21 Mar 2026 10:05:00 +0000",
    "--body",
    "Hello Ada",
    "--attach-type",
    "application/pdf",
    "--attach-name",
    "swaks.pdf",
    "--attach",
    `@${path}`,
  ];
  expect(await run(words)).toContain("250 2.0.0");
  const { message, attachment, bytes } = await received(inbox);
  expect(message).toMatchObject({
    rfcMessageId: "swaks@example.com",
    fromAddr: "jane@example.com",
    bodyText: "Hello Ada",
  });
  expect(attachment?.filename).toBe("swaks.pdf");
  expect(bytes?.equals(file)).toBe(true);
});

test("nodemailer: required STARTTLS, several mails on one connection", async () => {
  const inbox = await world.inbox();
  const transport = createTransport({
    host: "127.0.0.1",
    port: world.smtpPort,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    pool: true,
    maxConnections: 1,
  });
  const sent = [];
  for (let number = 0; number < 5; number += 1)
    sent.push(
      transport.sendMail({
        from: "Jane <jane@example.com>",
        to: inbox.address,
        subject: `Mail ${number} – ünïcode`,
        text: `Text ${number}`,
        messageId: `<m${number}@example.com>`,
        attachments: [{ filename: "file.bin", content: file }],
      }),
    );
  for (const info of await Promise.all(sent)) expect(info.response).toStartWith("250");
  transport.close();
  const stored = await storedMessages(world.service.deps.db.api, inbox.id);
  expect(stored.map(({ subject }) => subject).toSorted()).toEqual(
    [0, 1, 2, 3, 4].map((number) => `Mail ${number} – ünïcode`),
  );
});

test.skipIf(postfix === undefined)(
  "Postfix relays its mail, and is told which address is unknown",
  async () => {
    const inbox = await world.inbox();
    const relay = await startRelay(world.smtpPort);
    try {
      const raw =
        "From: jane@example.com\nSubject: By way of Postfix\nMessage-ID: <relayed@example.com>\n\nHello\n.\n..dots\n";
      await run(
        ["sendmail", "-C", relay.config, "-i", "-f", "jane@example.com", inbox.address, "nobody-here@inbox.localhost"],
        raw,
      );
      await relay.logged(/status=sent \(250 2\.0\.0/);
      await relay.logged(/status=bounced .*550 5\.1\.1/);
      const { message } = await received(inbox);
      expect(message).toMatchObject({
        subject: "By way of Postfix",
        rfcMessageId: "relayed@example.com",
        bodyText: "Hello\n.\n..dots",
      });
      const source = (await storedBytes(world.service.deps.db.api, message.sourceId)).toString();
      expect(source).toContain("\r\nHello\r\n.\r\n..dots\r\n");
      expect(source).toStartWith("Received: ");
    } finally {
      await relay.stop();
    }
  },
  60_000,
);

function found(program: string): string | undefined {
  return Bun.which(program, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` }) ?? undefined;
}

async function run(command: string[], input = ""): Promise<string> {
  const child = Bun.spawn(command, {
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
  });
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`Cannot run ${command[0]}: ${out}${error}`);
  return out;
}

/** A separate Postfix that sends everything to us and does not listen. */
async function startRelay(port: number) {
  const home = join(directory, "postfix");
  const postfix = await startPostfixIn(home, {
    settings: [
      "inet_interfaces = loopback-only",
      "myhostname = relay.example",
      `relayhost = [127.0.0.1]:${port}`,
      "smtp_tls_security_level = may",
      "bounce_template_file =",
      "notify_classes =",
      "maximal_queue_lifetime = 1h",
    ],
  });
  return {
    ...postfix,
    async logged(pattern: RegExp): Promise<void> {
      let log = "";
      for (let attempt = 0; attempt < 400; attempt += 1) {
        log = existsSync(`${home}/log`) ? await Bun.file(`${home}/log`).text() : "";
        if (pattern.test(log)) return;
        await Bun.sleep(50);
      }
      throw new Error(`Postfix has not said ${pattern}: ${log}`);
    },
  };
}
