import { createHash, generateKeyPairSync, sign as signWith } from "node:crypto";

/** A key pair of a sender, and the DNS record of its public key. */
export interface SenderKey {
  sign(data: Buffer): Buffer;
  record: string;
  algorithm: "rsa-sha256" | "ed25519-sha256";
  privateKeyPem: string;
}

export function rsaKey(bits = 2048): SenderKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  return {
    sign: (data) => signWith("sha256", data, privateKey),
    record: `v=DKIM1; k=rsa; p=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}`,
    algorithm: "rsa-sha256",
    privateKeyPem: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

export function ed25519Key(): SenderKey {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const bare = publicKey.export({ type: "spki", format: "der" }).subarray(-32);
  return {
    sign: (data) => signWith(null, createHash("sha256").update(data).digest(), privateKey),
    record: `v=DKIM1; k=ed25519; p=${bare.toString("base64")}`,
    algorithm: "ed25519-sha256",
    privateKeyPem: String(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

/** The tags of a signature, in order. An undefined one is left out. */
export type Tags = Record<string, string | undefined>;

/**
 * Signs a mail in the simple forms, which change nothing, with any tags, so that a rule about a tag is tested on a signature that is right
 * but for it. The mail must end in one line end. Each name in `h=` stands once in the mail.
 */
export function signedBy(key: SenderKey, mail: string, tags: Tags = {}): string {
  const [head = "", body = ""] = mail.split(/\r\n\r\n(.*)/s);
  const length = tags.l === undefined ? body.length : Number(tags.l);
  const all: Tags = {
    v: "1",
    a: key.algorithm,
    c: "simple/simple",
    d: "example.com",
    s: "s1",
    h: "From",
    bh: createHash("sha256").update(body.slice(0, length), "latin1").digest("base64"),
    ...tags,
  };
  const written = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  const field = `DKIM-Signature: ${written.join("; ")}; b=`;
  const fields = head.split(/\r\n(?![ \t])/);
  const named = (all.h ?? "").split(":").flatMap((name) => {
    const start = `${name.trim().toLowerCase()}:`;
    return fields.filter((each) => each.toLowerCase().startsWith(start)).map((each) => `${each}\r\n`);
  });
  const signature = key.sign(Buffer.from(`${named.join("")}${field}`, "latin1"));
  return `${field}${signature.toString("base64")}\r\n${mail}`;
}
