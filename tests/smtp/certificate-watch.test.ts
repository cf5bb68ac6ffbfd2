import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadCertificate } from "../../src/smtp/certificate.ts";
import { watchCertificate } from "../../src/smtp/certificate-watch.ts";
import type { Certificate } from "../../src/smtp/self-signed.ts";
import { failureOf } from "../support/failure.ts";
import { type TestListener, testCertificate, testListener } from "../support/mail-door.ts";
import { greeted } from "../support/raw-smtp.ts";
import { until } from "../support/until.ts";

/** The name in the certificate that a new session gets. */
async function presented({ port }: TestListener): Promise<string> {
  const client = await greeted(port);
  await client.ask("STARTTLS");
  const leaf = new X509Certificate((await client.secure()).getPeerCertificate(true).raw);
  client.destroy();
  return leaf.subject.replace("CN=", "");
}

type Watched = Awaited<ReturnType<typeof watched>>;

/** A listener whose certificate is in two files that are read every 5 ms. */
async function watched() {
  const smtp = await testListener();
  const directory = await mkdtemp(join(tmpdir(), "inboxd-cert-"));
  const paths = { certPath: join(directory, "mx.crt"), keyPath: join(directory, "mx.key") };
  const [first, second] = [await testCertificate("first.example"), await testCertificate("second.example")];
  /** Replaces each file at once, so that a look finds the old or the new one. */
  const replaceFile = async (path: string, text: string) => {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };
  const replace = async ({ cert, key }: Partial<Certificate>) => {
    if (cert !== undefined) await replaceFile(paths.certPath, cert);
    if (key !== undefined) await replaceFile(paths.keyPath, key);
  };
  await replace(first);
  smtp.listener.reloadCertificate(first);
  const [renewals, faults]: [string[], string[]] = [[], []];
  let reads = 0;
  const watch = watchCertificate({
    inForce: first,
    async read() {
      reads += 1;
      return loadCertificate(paths);
    },
    use: smtp.listener.reloadCertificate,
    everyMs: 5,
    observe: {
      renewed: () => void renewals.push("renewed"),
      unusable: (reason) => void faults.push(reason.replaceAll(directory, "")),
    },
  });
  return {
    smtp,
    first,
    second,
    replace,
    watch,
    renewals,
    faults,
    /** Resolves after ten further looks at the files. */
    async looks() {
      const seen = reads;
      await until(() => reads > seen + 10);
    },
    async [Symbol.asyncDispose]() {
      watch.stop();
      await smtp[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

test("a renewed certificate is in use for new sessions, and open ones go on", async () => {
  await using world = await watched();
  const { smtp, first, second } = world;
  expect(await presented(smtp)).toBe("first.example");
  const plain = await greeted(smtp.port);
  const secure = await greeted(smtp.port);
  await secure.ask("STARTTLS");
  await secure.secure();

  await world.replace(second);
  await until(() => world.renewals.length > 0);
  expect(await presented(smtp)).toBe("second.example");
  expect(smtp.listener.certificateExpiresAt).toEqual(new Date(new X509Certificate(second.cert).validTo));
  for (const client of [plain, secure]) {
    await client.ask("EHLO client.example");
    client.send("MAIL FROM:<jane@example.com>\r\nRCPT TO:<ada@inbox.localhost>\r\nDATA\r\n");
    await client.replies(3);
    expect(await client.ask("Hello\r\n.")).toStartWith("250");
    client.destroy();
  }

  await world.looks();
  expect(world.renewals).toEqual(["renewed"]);
  await world.replace(first);
  await until(() => world.renewals.length > 1);
  expect(await presented(smtp)).toBe("first.example");
});

test("a pair that changes in two steps keeps the old one in between, and is reported once", async () => {
  await using world = await watched();
  await world.replace({ cert: world.second.cert });
  await world.looks();
  expect(await presented(world.smtp)).toBe("first.example");
  expect(world.faults).toEqual(['Cannot use the certificate "/mx.crt": "/mx.key" is the key of another certificate']);
  expect(String(await failureOf(world.watch.readNow()))).toContain("is the key of another certificate");

  await world.replace({ key: world.second.key });
  await until(() => world.renewals.length > 0);
  expect(await presented(world.smtp)).toBe("second.example");
  expect([world.renewals.length, world.faults.length]).toEqual([1, 1]);
});

const noCertificate = 'Cannot use "/mx.crt": it contains no readable PEM certificate';
const broken: [what: string, half: (world: Watched) => Partial<Certificate>, fault: string][] = [
  ["certificate", ({ second }) => ({ cert: second.cert.slice(0, 200) }), noCertificate],
  ["empty certificate", () => ({ cert: "" }), noCertificate],
  [
    "key",
    ({ second }) => ({ key: second.key.slice(0, 100) }),
    'Cannot use "/mx.key": it contains no readable PEM private key',
  ],
  [
    "chain",
    ({ first, second }) => ({ cert: first.cert + second.cert.slice(0, 200) }),
    'Cannot use "/mx.crt": it contains no readable PEM certificate chain',
  ],
];
test.each(broken)("a half-written %s keeps the old one, until it is whole", async (_what, half, fault) => {
  await using world = await watched();
  await world.replace(half(world));
  await until(() => world.faults.length > 0);
  await world.looks();
  expect(await presented(world.smtp)).toBe("first.example");
  expect([world.renewals, world.faults]).toEqual([[], [fault]]);
  await world.replace(world.second);
  await until(() => world.renewals.length > 0);
  expect(await presented(world.smtp)).toBe("second.example");
});
