import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIpAddress } from "../../standards/ip.ts";
import { type Finding, findingsOf } from "./finding.ts";

export interface CertificateQuestion {
  smtpTls: { certPath: string; keyPath: string } | undefined;
  smtpHostname: string;
  now: Date;
}

/** Checks that mail servers can trust the certificate of STARTTLS. */
export async function checkCertificate({ smtpTls, smtpHostname, now }: CertificateQuestion): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("certificate");
  if (smtpTls === undefined) {
    return [
      warn(
        "self-signed: mail is encrypted, but senders cannot verify this server",
        `Set SMTP_TLS_CERT and SMTP_TLS_KEY to a certificate for ${smtpHostname}`,
      ),
    ];
  }
  const pair = await read(smtpTls);
  if (typeof pair === "string") return [fail(pair, "Set SMTP_TLS_CERT and SMTP_TLS_KEY to matching PEM files")];
  const { validTo, validFrom, subject } = pair;
  const path = smtpTls.certPath;
  const expiresAt = new Date(validTo);
  const isFor = isIpAddress(smtpHostname) ? pair.checkIP(smtpHostname) : pair.checkHost(smtpHostname);
  if (isFor === undefined) {
    const names = pair.subjectAltName ?? subject;
    return [
      fail(`${path} is for ${names}, not for ${smtpHostname}`, `Get one for ${smtpHostname}, or change SMTP_HOSTNAME`),
    ];
  }
  if (expiresAt <= now)
    return [fail(`${path} has expired on ${day(expiresAt)}`, "Renew it: inboxd reads it within a minute")];
  if (new Date(validFrom) > now) {
    return [
      fail(
        `${path} is not valid before ${day(new Date(validFrom))}`,
        "Wait until then, or correct this machine's clock",
      ),
    ];
  }
  const seen = `${path} is for ${smtpHostname}, until ${day(expiresAt)}`;
  if (pair.issuer === subject) return [warn(`${seen}, self-signed`, "Get one from a public authority")];
  const leftDays = Math.floor((expiresAt.getTime() - now.getTime()) / dayMs);
  return [
    leftDays < soonDays ? warn(`${seen} (${leftDays} days)`, "Renew it: inboxd reads it within a minute") : ok(seen),
  ];
}

const dayMs = 86_400_000;
const soonDays = 14;

/** The certificate, or the reason why the pair cannot be used. */
async function read({ certPath, keyPath }: { certPath: string; keyPath: string }): Promise<X509Certificate | string> {
  const texts = await Promise.all([certPath, keyPath].map((path) => readFile(path, "utf8").catch(() => undefined)));
  const [cert, key] = texts;
  if (cert === undefined) return `${certPath} cannot be read`;
  if (key === undefined) return `${keyPath} cannot be read`;
  try {
    const leaf = new X509Certificate(cert);
    return leaf.checkPrivateKey(createPrivateKey(key)) ? leaf : `${keyPath} is the key of another certificate`;
  } catch {
    return `${certPath} or ${keyPath} is not valid PEM`;
  }
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
