import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, createServer } from "node:tls";
import { loadCertificate, selfSigned } from "../../src/smtp/certificate.ts";
import { newPrivateKey, selfSign } from "../../src/smtp/self-signed.ts";
import { randomBytes } from "../support/mail-door.ts";

const now = new Date("2026-03-21T10:05:00.000Z");
const options = (dataDir: string) => ({ dataDir, hostname: "inbox.localhost", now: () => now, randomBytes });
const newDir = () => mkdtemp(join(tmpdir(), "inboxd-cert-"));

describe("the self-signed certificate", () => {
  test("is accepted by an independent parser", async () => {
    const { cert } = await selfSign(await newPrivateKey(), { hostname: "inbox.localhost", now, randomBytes });
    const leaf = new X509Certificate(cert);
    expect(leaf.subject).toBe("CN=inbox.localhost");
    expect(leaf.issuer).toBe(leaf.subject);
    expect(leaf.subjectAltName).toBe("DNS:inbox.localhost");
    expect(leaf.checkHost("inbox.localhost")).toBe("inbox.localhost");
    expect(leaf.verify(leaf.publicKey)).toBe(true);
    expect(leaf.ca).toBe(false);
    expect(leaf.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    expect([new Date(leaf.validFrom).toISOString(), new Date(leaf.validTo).getUTCFullYear()]).toEqual([
      "2026-03-20T10:05:00.000Z",
      2046,
    ]);
  });

  const oddities: [what: string, hostname: string, now: Date, bytes: (n: number) => Uint8Array, altName: string][] = [
    [
      "a name too long for a common name",
      `${"a".repeat(63)}.example`,
      now,
      randomBytes,
      `DNS:${"a".repeat(63)}.example`,
    ],
    ["an address", "192.0.2.1", now, randomBytes, "IP Address:192.0.2.1"],
    ["an end after 2049", "mx.example", new Date("2040-01-01"), randomBytes, "DNS:mx.example"],
    ["a serial number that starts with ones", "mx.example", now, (n) => new Uint8Array(n).fill(255), "DNS:mx.example"],
    [
      "a serial number that starts with zeros",
      "mx.example",
      now,
      (n) => new Uint8Array(n).fill(1, n - 1),
      "DNS:mx.example",
    ],
  ];
  test.each(oddities)("also for %s", async (_what, hostname, instant, bytes, altName) => {
    const { cert } = await selfSign(await newPrivateKey(), { hostname, now: instant, randomBytes: bytes });
    const leaf = new X509Certificate(cert);
    expect(leaf.subjectAltName).toBe(altName);
    expect(leaf.verify(leaf.publicKey)).toBe(true);
    expect(new Date(leaf.validTo).getTime()).toBeGreaterThan(instant.getTime());
  });

  test("is valid for any signature", async () => {
    const key = await newPrivateKey();
    for (let i = 0; i < 40; i++) {
      const leaf = new X509Certificate((await selfSign(key, { hostname: "mx.example", now, randomBytes })).cert);
      expect(leaf.verify(leaf.publicKey)).toBe(true);
    }
  });

  test("is accepted by a client that trusts it by name", async () => {
    const { cert, key } = await selfSign(await newPrivateKey(), {
      hostname: "inbox.localhost",
      now: new Date(),
      randomBytes,
    });
    const server = createServer({ cert, key }, (socket) => socket.end("hello"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const said = await new Promise<string>((resolve, reject) => {
      const client = connectTls({ host: "127.0.0.1", port, ca: cert, servername: "inbox.localhost" });
      client.on("data", (chunk) => resolve(`${client.authorized} ${chunk.toString()}`));
      client.on("error", reject);
    });
    server.close();
    expect(said).toBe("true hello");
  });

  test("is made once, readable by its owner only, and found again", async () => {
    const dir = join(await newDir(), "data");
    const first = await selfSigned(options(dir));
    expect(await selfSigned(options(dir))).toEqual(first);
    expect((await readdir(dir)).sort()).toEqual(["smtp-cert.pem", "smtp-key.pem"]);
    for (const name of ["smtp-cert.pem", "smtp-key.pem"])
      expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
  });

  test("two first starts at the same time keep one matching pair", async () => {
    const dir = await newDir();
    const pairs = await Promise.all(Array.from({ length: 8 }, () => selfSigned(options(dir))));
    expect(new Set(pairs.map(({ cert, key }) => cert + key)).size).toBe(1);
    expect((await readdir(dir)).sort()).toEqual(["smtp-cert.pem", "smtp-key.pem"]);
  });

  test("a start after a crash between key and certificate makes the certificate", async () => {
    const dir = await newDir();
    const { key } = await selfSigned(options(dir));
    await rm(join(dir, "smtp-cert.pem"));
    expect((await selfSigned(options(dir))).key).toBe(key);
  });
});

describe("the operator's certificate", () => {
  test("is read from its files", async () => {
    const dir = await newDir();
    const pair = await selfSigned(options(dir));
    const paths = { certPath: join(dir, "smtp-cert.pem"), keyPath: join(dir, "smtp-key.pem") };
    expect(await loadCertificate(paths)).toEqual(pair);
  });

  test("is refused with a clear message if it can't work", async () => {
    const dir = await newDir();
    await selfSigned(options(dir));
    const certPath = join(dir, "smtp-cert.pem");
    const other = join(dir, "other.pem");
    await writeFile(other, await newPrivateKey());
    const said = (paths: { certPath: string; keyPath: string }) =>
      loadCertificate(paths).then(
        () => "taken",
        (error: Error) => error.message.replaceAll(dir, ""),
      );
    expect(await said({ certPath, keyPath: other })).toBe(
      'Cannot use the certificate "/smtp-cert.pem": "/other.pem" is the key of another certificate',
    );
    expect(await said({ certPath: other, keyPath: other })).toBe(
      'Cannot use "/other.pem": it contains no readable PEM certificate',
    );
    expect(await said({ certPath, keyPath: certPath })).toBe(
      'Cannot use "/smtp-cert.pem": it contains no readable PEM private key',
    );
    expect(await said({ certPath: join(dir, "none"), keyPath: other })).toStartWith(
      'Cannot read "/none": there is no such file',
    );
  });
});
