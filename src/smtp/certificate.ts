import { createPrivateKey, X509Certificate } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { type Certificate, newPrivateKey, selfSign } from "./self-signed.ts";

/** Reads and checks the operator's certificate, so that an invalid one fails the start, and not the handshake of a client. */
export async function loadCertificate(paths: { certPath: string; keyPath: string }): Promise<Certificate> {
  const { certPath, keyPath } = paths;
  const cert = await readPem(certPath);
  const key = await readPem(keyPath);
  checkPair({ cert, key }, certPath, keyPath);
  return { cert, key };
}

export interface SelfSignedOptions {
  dataDir: string;
  hostname: string;
  now: () => Date;
  randomBytes: (n: number) => Uint8Array;
}

/**
 * Returns the self-signed certificate in the data directory. The first start makes it.
 *
 * Each file is written under another name and gets its own name when it is complete. An existing file is kept, and the certificate is made
 * for the key that exists. So two first starts at the same time, or one that crashed between the two files, end with a matching pair.
 */
export async function selfSigned({ dataDir, hostname, now, randomBytes }: SelfSignedOptions): Promise<Certificate> {
  const certPath = join(dataDir, "smtp-cert.pem");
  const keyPath = join(dataDir, "smtp-key.pem");
  const suffix = `.${randomBytes(8).toHex()}.new`;
  await mkdir(dataDir, { recursive: true });
  const key = (await readIfThere(keyPath)) ?? (await keepFirst(keyPath, await newPrivateKey(), suffix));
  const cert =
    (await readIfThere(certPath)) ??
    (await keepFirst(certPath, (await selfSign(key, { hostname, now: now(), randomBytes })).cert, suffix));
  checkPair({ cert, key }, certPath, keyPath);
  return { cert, key };
}

/** Writes `text` to a new file at `path`. Keeps the file if another process was first. Returns the content of the file. */
async function keepFirst(path: string, text: string, suffix: string): Promise<string> {
  const fresh = path + suffix;
  const file = await open(fresh, "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    // Unlike rename, this fails if the name is taken.
    await link(fresh, path);
  } catch (error) {
    // On a file system without hard links, the later of two processes wins.
    if (!isErrno(error, "EEXIST")) await rename(fresh, path);
  }
  await rm(fresh, { force: true });
  return readPem(path);
}

function checkPair({ cert, key }: Certificate, certPath: string, keyPath: string): void {
  const leaf = parsed(certPath, "certificate", () => new X509Certificate(cert));
  const privateKey = parsed(keyPath, "private key", () => createPrivateKey(key));
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new Error(`Cannot use the certificate "${certPath}": "${keyPath}" is the key of another certificate`);
  }
  // The first certificate was parsed above; this parses the intermediate ones too.
  parsed(certPath, "certificate chain", () => createSecureContext({ cert, key }));
}

function parsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`Cannot use "${path}": it contains no readable PEM ${what}`, { cause: error });
  }
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : message;
    throw new Error(`Cannot read "${path}": ${why}`, { cause: error });
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw new Error(`Cannot read "${path}": ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
