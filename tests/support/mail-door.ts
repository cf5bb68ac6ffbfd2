import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rate } from "../../src/primitives/rate.ts";
import { selfSigned } from "../../src/smtp/certificate.ts";
import type { AcceptDecision, InboundMail, RecipientDecision, SmtpDoor } from "../../src/smtp/door.ts";
import { type SmtpListener, startSmtp } from "../../src/smtp/listener.ts";
import type { Certificate } from "../../src/smtp/self-signed.ts";
import type { SmtpLimits } from "../../src/smtp/smtp-limits.ts";
import { originOf } from "../../src/standards/ip.ts";

/** An SMTP listener whose door records mails and answers as the test says; disposing stops it. */
export interface TestListener extends AsyncDisposable {
  readonly listener: SmtpListener;
  readonly port: number;
  readonly mails: InboundMail[];
  /** The door's answers, which a test may replace. */
  readonly door: {
    recipient: (address: string) => Promise<RecipientDecision>;
    accept: (mail: InboundMail) => Promise<AcceptDecision>;
  };
  readonly refused: string[];
  /** The sizes of accepted mails. */
  readonly accepted: number[];
  readonly faults: unknown[];
}

export interface TestListenerOptions {
  limits?: Partial<SmtpLimits>;
  maxBytes?: number;
  proxyProtocol?: boolean;
  /** The most mails of each network. */
  mostMails?: number;
}

export async function testListener({
  limits = {},
  maxBytes = 100_000,
  proxyProtocol = false,
  mostMails = Number.POSITIVE_INFINITY,
}: TestListenerOptions = {}): Promise<TestListener> {
  const mails: InboundMail[] = [];
  const refused: string[] = [];
  const accepted: number[] = [];
  const faults: unknown[] = [];
  const door: TestListener["door"] = {
    async recipient(address) {
      if (!/@inbox\.localhost$/i.test(address)) return { kind: "other_domain" };
      return /^(?:ada|n\d+)(?:\+.*)?@/i.test(address)
        ? { kind: "accept", inboxId: `inbox of ${address}` }
        : { kind: "unknown" };
    },
    async accept(mail) {
      mails.push(mail);
      return { kind: "stored" };
    },
  };
  const service: SmtpDoor = {
    recipient: (address) => door.recipient(address),
    accept: (mail) => door.accept(mail),
  };
  const paced = rate<string>({ most: mostMails, periodMs: 60_000, keys: 100 });
  const listener = await startSmtp(service, {
    host: "127.0.0.1",
    port: 0,
    hostname: "inbox.localhost",
    maxBytes,
    certificate: await testCertificate(),
    originOf,
    takesMailOf: (network) => paced.take(network, 0) === undefined,
    limits: { sweepMs: 10, ...limits },
    proxyProtocol,
    observe: {
      refused: (reason) => refused.push(reason),
      accepted: (sizeBytes) => accepted.push(sizeBytes),
      fault: (error) => faults.push(error),
    },
  });
  return {
    listener,
    port: listener.port,
    mails,
    door,
    refused,
    accepted,
    faults,
    [Symbol.asyncDispose]: () => listener.stop(0),
  };
}

export const randomBytes = (n: number): Uint8Array => crypto.getRandomValues(new Uint8Array(n));

export async function testCertificate(hostname = "inbox.localhost"): Promise<Certificate> {
  const dataDir = await mkdtemp(join(tmpdir(), "inboxd-smtp-"));
  return selfSigned({ dataDir, hostname, now: () => new Date(), randomBytes });
}
