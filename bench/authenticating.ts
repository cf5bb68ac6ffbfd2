/**
 * `bun bench/authenticating.ts`: the time of this thread to authenticate one mail, with the DNS in memory. The peer is the DKIM verifier of
 * mailauth on the same mail.
 */
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { dkimSigner } from "../src/mail/write/dkim.ts";
import { authenticated, recordsIn, remembering } from "../tests/support/authenticating.ts";
import { mailOf } from "../tests/support/mail.ts";
import { ed25519Key, rsaKey } from "../tests/support/signed-mail.ts";
import { report } from "./support/report.ts";

const seconds = Number(process.env.SECONDS ?? 2);
const rsa = rsaKey();
const ed25519 = ed25519Key();
const zone = `
  example.com TXT v=spf1 ip4:192.0.2.0/24 -all
  _dmarc.example.com TXT v=DMARC1; p=reject
  rsa._domainkey.example.com TXT ${rsa.record}
  ed._domainkey.example.com TXT ${ed25519.record}
`;
const { resolve, recall } = remembering(recordsIn(zone));
const text = (bytes: number) => "Hello Ada, this is a line of a mail as people write it.\r\n".repeat(bytes / 57);
const unsigned = Buffer.from(mailOf({ text: text(5 * 1024) }));
const large = Buffer.from(mailOf({ text: text(100 * 1024) }));
const byRsa = await signed(unsigned, "rsa", rsa.privateKeyPem);

await measure("unsigned, 5 KiB", unsigned);
await measure("one RSA-2048 signature", byRsa, true);
await measure("two RSA-2048 signatures", await signed(byRsa, "rsa", rsa.privateKeyPem));
await measure("one Ed25519 signature", await signed(unsigned, "ed", ed25519.privateKeyPem));
await measure("one RSA-2048 signature, 100 KiB", await signed(large, "rsa", rsa.privateKeyPem), true);

async function signed(raw: Uint8Array, selector: string, privateKeyPem: string): Promise<Uint8Array> {
  const signer = await dkimSigner({ domain: "example.com", selector, privateKeyPem });
  return signer.sign(raw, { date: new Date("2026-03-01T00:00:00Z"), headers: [] });
}

async function measure(what: string, raw: Uint8Array, hasPeer = false): Promise<void> {
  const value = await microseconds(() => authenticated(raw, "", { options: { resolve, recall } }));
  const peer = hasPeer ? await microseconds(() => dkimVerify(Buffer.from(raw), { resolver })) : undefined;
  report({
    what,
    value,
    unit: "µs",
    ...(peer !== undefined && { beside: [{ name: "mailauth, DKIM alone", value: peer }] }),
  });
}

async function resolver(name: string, type: string): Promise<string[][]> {
  const answer = await resolve(name, type as "TXT", new AbortController().signal);
  return answer.kind === "found" ? answer.records.map((record) => [String(record)]) : [];
}

/** The time of the best of many rounds: other work on the machine only makes a round slower. */
async function microseconds(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  const endMs = performance.now() + seconds * 1000;
  for (let round = 0; round < 5 || performance.now() < endMs; round += 1) {
    const before = process.threadCpuUsage();
    for (let index = 0; index < 500; index += 1) await work();
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 500);
  }
  return Math.round(best);
}
