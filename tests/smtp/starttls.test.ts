import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { createTransport } from "nodemailer";
import { randomBytes, testCertificate, testListener } from "../support/mail-door.ts";
import { greeted } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";

const start = (reply: string): string => reply.split(" ").slice(0, 2).join(" ");

describe("STARTTLS", () => {
  test("encrypts, resets the session, and is not offered twice", async () => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    await client.ask("MAIL FROM:<plain@example.com>");
    await client.ask("RCPT TO:<ada@inbox.localhost>");
    expect(start(await client.ask("STARTTLS"))).toBe("220 2.0.0");
    const tls = await client.secure();
    expect(["TLSv1.2", "TLSv1.3"]).toContain(tls.getProtocol() ?? "none");
    expect(start(await client.ask("MAIL FROM:<a@b.example>"))).toBe("503 5.5.1");
    expect(await client.ask("EHLO again.example")).not.toContain("STARTTLS");
    expect(start(await client.ask("DATA"))).toBe("503 5.5.1");
    expect(start(await client.ask("STARTTLS"))).toBe("503 5.5.1");
    client.send("MAIL FROM:<jane@example.com>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n");
    await client.replies(3);
    expect(start(await client.ask("x\r\n."))).toBe("250 2.0.0");
    expect(smtp.mails.map(({ envelope }) => [envelope.from, envelope.client])).toEqual([
      [
        "jane@example.com",
        { address: "127.0.0.1", network: "127.0.0.1", heloName: "again.example", secure: true, isProxy: false },
      ],
    ]);
    client.send("QUIT\r\n");
    expect(start(await client.reply())).toBe("221 2.0.0");
    await client.closed;
  });

  test("drops plain text that was pipelined behind it", async () => {
    await using smtp = await testListener();
    const injected =
      "EHLO evil.example\r\nMAIL FROM:<evil@x.example>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\nevil\r\n.\r\n";
    for (const behind of [injected, "MAIL FR", `${"NOOP\r\n".repeat(300)}${injected}`]) {
      const client = await greeted(smtp.port);
      client.send(`STARTTLS\r\n${behind}`);
      expect(start(await client.reply())).toBe("220 2.0.0");
      await client.secure();
      // The first reply inside TLS is to the first command inside TLS.
      expect(start(await client.ask("NOOP"))).toBe("250 2.0.0");
      expect(start(await client.ask("RCPT TO:<ada@inbox.localhost>"))).toBe("503 5.5.1");
      expect(start(await client.ask("VRFY x"))).toBe("252 2.5.0");
      client.destroy();
    }
    expect(smtp.mails).toEqual([]);
  });

  test("uses a new certificate for new connections, and keeps the old one if the new pair does not match", async () => {
    await using smtp = await testListener();
    const presented = async (): Promise<string> => {
      const client = await greeted(smtp.port);
      await client.ask("STARTTLS");
      const tls = await client.secure();
      const leaf = new X509Certificate(tls.getPeerCertificate(true).raw);
      client.destroy();
      return leaf.subject;
    };
    expect(await presented()).toBe("CN=inbox.localhost");
    const next = await testCertificate("next.example");
    smtp.listener.reloadCertificate(next);
    expect(await presented()).toBe("CN=next.example");
    const other = await testCertificate("other.example");
    expect(() => smtp.listener.reloadCertificate({ cert: other.cert, key: next.key })).toThrow();
    expect(await presented()).toBe("CN=next.example");
  });
});

describe("a handshake that fails", () => {
  const hellos: [what: string, octets: string][] = [
    ["garbage", "GARBAGE\r\n"],
    ["a request for a page", "GET / HTTP/1.1\r\n\r\n"],
    ["an alert", "\x15\x03\x01\x00\x02\x02\x28"],
  ];
  test.each(hellos)("by %s is counted once, and is no fault of ours", async (_what, octets) => {
    await using smtp = await testListener();
    const client = await greeted(smtp.port);
    await client.ask("STARTTLS");
    client.send(octets);
    await client.closed;
    await until(() => smtp.listener.sessions === 0);
    expect([smtp.refused, smtp.faults]).toEqual([["tls"], []]);
  });
});

describe("real clients", () => {
  test("a mail by nodemailer over STARTTLS arrives byte for byte", async () => {
    await using smtp = await testListener();
    const transport = createTransport({
      host: "127.0.0.1",
      port: smtp.port,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
    });
    const raw = `From: jane@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\n.dot\r\n..two\r\n${randomBytes(3000).toBase64()}\r\n`;
    const envelope = { from: "jane@example.com", to: ["ada@inbox.localhost", "n1@inbox.localhost"] };
    const sent = await transport.sendMail({ envelope, raw });
    transport.close();
    expect(sent.response).toBe("250 2.0.0 Ok: queued");
    expect(smtp.mails).toHaveLength(1);
    expect(Buffer.from(smtp.mails[0]?.raw ?? []).toString()).toBe(raw);
    const came = smtp.mails[0]?.envelope;
    expect([came?.client.secure, came?.recipients.map(({ toAddr }) => toAddr)]).toEqual([true, envelope.to]);
  });

  const python = Bun.which("python3");
  if (python === null) console.log("skipped: Python's smtplib, since there is no python3 here");
  test.skipIf(python === null)("Python's smtplib, plain and over STARTTLS", async () => {
    await using smtp = await testListener();
    const script = `
import smtplib, ssl, sys
with smtplib.SMTP("127.0.0.1", int(sys.argv[1]), timeout=10) as s:
    s.sendmail("jane@example.com", ["ada@inbox.localhost"], "Subject: plain\\n\\n.dot\\nend")
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    s.starttls(context=context)
    s.sendmail("jane@example.com", ["ada@inbox.localhost"], "Subject: secure\\r\\n\\r\\nhi\\r\\n")
    s.sendmail("jané@example.com", ["ada@inbox.localhost"], "Subject: grüße\\r\\n\\r\\nhi\\r\\n".encode(), mail_options=["SMTPUTF8", "BODY=8BITMIME"])
    try:
        s.sendmail("jane@example.com", ["no@inbox.localhost"], "x")
    except smtplib.SMTPRecipientsRefused as e:
        print(e.recipients["no@inbox.localhost"][0])
`;
    const run = Bun.spawn([python ?? "", "-c", script, String(smtp.port)], { stdout: "pipe", stderr: "pipe" });
    expect([await run.exited, await new Response(run.stderr).text(), await new Response(run.stdout).text()]).toEqual([
      0,
      "",
      "550\n",
    ]);
    expect(
      smtp.mails.map(({ raw, envelope }) => [Buffer.from(raw).toString(), envelope.client.secure, envelope.from]),
    ).toEqual([
      ["Subject: plain\r\n\r\n.dot\r\nend\r\n", false, "jane@example.com"],
      ["Subject: secure\r\n\r\nhi\r\n", true, "jane@example.com"],
      ["Subject: grüße\r\n\r\nhi\r\n", true, "jané@example.com"],
    ]);
  });
});
