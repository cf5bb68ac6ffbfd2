import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIpAddress } from "../../standards/ip.ts";
import { type Finding, findingsOf } from "./finding.ts";

export interface CertificateQuestion {
  smtpTls: { certPath: string; keyPath: string } | undefined;
  smtpHostname: string;
  now: Date;
}

/** Whether the certificate of STARTTLS is one that mail servers can trust. */
export async function checkCertificate({ smtpTls, smtpHostname, now }: CertificateQuestion): Promise<Finding[]> {
  const { ok, warn, fail } = findingsOf("certificate");
  if (smtpTls === undefined) {
    return [
      warn(
        "self-signed: mail is encrypted, and nobody can tell that it is you",
        `Set SMTP_TLS_CERT and SMTP_TLS_KEY to a certificate for ${smtpHostname}`,
      ),
    ];
  }
  const pair = await read(smtpTls);
  if (typeof pair === "string") return [fail(pair, "Set SMTP_TLS_CERT and SMTP_TLS_KEY to PEM files that go together")];
  const { validTo, validFrom, subject } = pair;
  const place = smtpTls.certPath;
  const expiresAt = new Date(validTo);
  const isFor = isIpAddress(smtpHostname) ? pair.checkIP(smtpHostname) : pair.checkHost(smtpHostname);
  if (isFor === undefined) {
    const names = pair.subjectAltName ?? subject;
    return [
      fail(`${place} is for ${names}, not for ${smtpHostname}`, `Get one for ${smtpHostname}, or set SMTP_HOSTNAME`),
    ];
  }
  if (expiresAt <= now)
    return [fail(`${place} has expired on ${day(expiresAt)}`, "Renew it, then send SIGHUP to inboxd")];
  if (new Date(validFrom) > now) {
    return [
      fail(`${place} is valid from ${day(new Date(validFrom))} on`, "Wait until then, or set this machine's clock"),
    ];
  }
  const seen = `${place} is for ${smtpHostname}, until ${day(expiresAt)}`;
  if (pair.issuer === subject) return [warn(`${seen}, self-signed`, "Get one from an authority that others know")];
  const leftDays = Math.floor((expiresAt.getTime() - now.getTime()) / dayMs);
  return [leftDays < soonDays ? warn(`${seen} (${leftDays} days)`, "Renew it, then send SIGHUP to inboxd") : ok(seen)];
}

const dayMs = 86_400_000;
const soonDays = 14;

/** The leaf, or in words why the pair can't be used. */
async function read({ certPath, keyPath }: { certPath: string; keyPath: string }): Promise<X509Certificate | string> {
  const texts = await Promise.all([certPath, keyPath].map((path) => readFile(path, "utf8").catch(() => undefined)));
  const [cert, key] = texts;
  if (cert === undefined) return `${certPath} can't be read`;
  if (key === undefined) return `${keyPath} can't be read`;
  try {
    const leaf = new X509Certificate(cert);
    return leaf.checkPrivateKey(createPrivateKey(key)) ? leaf : `${keyPath} is the key of another certificate`;
  } catch {
    return `${certPath} or ${keyPath} holds no readable PEM`;
  }
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
