import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { DkimResult } from "../../domain/receive/authentication.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import type { Questions } from "./questions.ts";
import type { ReadSignature, SignatureCheck } from "./read-mail.ts";
import { listedIn, readTagList, withoutFolds } from "./tag-list.ts";

export interface JudgedSignature {
  result: DkimResult;
  /** Why it is not `pass`. */
  fault?: string;
}

/** Asks for the key of a signature, and verifies it (RFC 6376 §6.1.2). */
export async function judgeSignature(
  { domain, selector, check }: ReadSignature,
  questions: Questions,
  now: Date,
): Promise<JudgedSignature> {
  if (check.kind === "fault") return { result: check.result, fault: check.fault };
  if (check.expiresAt !== undefined && check.expiresAt * 1000 < now.getTime()) {
    return { result: "neutral", fault: "it has expired" };
  }
  const records = await questions.texts(`${selector}._domainkey.${domain}`);
  if (records === "unknown") return { result: "temperror", fault: "the DNS did not answer" };
  if (records === "too many") return { result: "policy", fault: "too many DNS questions" };
  if (records === "nothing") return { result: "permerror", fault: "its key is not published" };
  // A name with several records is undefined (RFC 6376 §3.6.2.2): the first readable key counts.
  const keys = records.slice(0, mostKeys).map(keyIn);
  const key = keys.find((each) => typeof each !== "string") ?? keys[0] ?? "its key is not published";
  return typeof key === "string" ? { result: "permerror", fault: key } : resultBy(key, check);
}

const mostKeys = 10;

interface DkimKey {
  type: "rsa" | "ed25519";
  key: KeyObject;
  bits: number;
  /** Whether it takes no signature for a subdomain in `i=`. */
  isExact: boolean;
}

function resultBy(key: DkimKey, check: SignatureCheck): JudgedSignature {
  if (key.type !== check.keyType) return { result: "permerror", fault: "its key is of another type" };
  if (key.isExact && check.isForSubdomain) return { result: "permerror", fault: "its key is for no subdomain" };
  if (key.type === "rsa" && (key.bits < leastBits || key.bits > mostBits)) {
    return { result: "policy", fault: `its key has ${key.bits} bits` };
  }
  return isSignedBy(key, check) ? { result: "pass" } : { result: "fail", fault: "the header was changed" };
}

/** RFC 8301 §3.2 wants 1,024 bits. Very long keys take milliseconds each. */
const leastBits = 1024;
const mostBits = 4096;

function isSignedBy({ type, key }: DkimKey, { signed, signature }: SignatureCheck): boolean {
  try {
    if (type === "rsa") return verify("sha256", signed, key, signature);
    // Ed25519 signs the digest (RFC 8463 §3).
    return verify(null, createHash("sha256").update(signed).digest(), key, signature);
  } catch {
    return false;
  }
}

/** The key in a record, or the fault of the record. The last keys are kept, because reading a key takes as long as verifying with it. */
function keyIn(record: string): DkimKey | string {
  const known = keys.get(record);
  if (known !== undefined) return known;
  const key = readKey(record);
  if (record.length <= mostKeptCharacters) keys.set(record, key);
  return key;
}

const keys = boundedMemory<string, DkimKey | string>(1000);
const mostKeptCharacters = 2000;

function readKey(record: string): DkimKey | string {
  const tags = record.length > mostRecordCharacters ? undefined : readTagList(record);
  if (tags === undefined) return "its key record is malformed";
  const fault = faultOf(tags);
  if (fault !== undefined) return fault;
  const type = (tags.get("k") ?? "rsa").toLowerCase();
  const bytes = Buffer.from(withoutFolds(tags.get("p") ?? ""), "base64");
  const isExact = listedIn(tags.get("t") ?? "").includes("s");
  try {
    const key = type === "rsa" ? rsaKey(bytes) : ed25519Key(bytes);
    if (key.asymmetricKeyType !== type) return "its key is of another type";
    return {
      type: type === "rsa" ? "rsa" : "ed25519",
      key,
      bits: key.asymmetricKeyDetails?.modulusLength ?? 0,
      isExact,
    };
  } catch {
    return "its key is malformed";
  }
}

const mostRecordCharacters = 16 * 1024;

function faultOf(tags: ReadonlyMap<string, string>): string | undefined {
  const version = tags.get("v");
  if (version !== undefined && (version !== "DKIM1" || tags.keys().next().value !== "v")) {
    return "the version of its key is unknown";
  }
  if (withoutFolds(tags.get("p") ?? "") === "") {
    return tags.has("p") ? "its key was withdrawn" : "its key record has no key";
  }
  const services = listedIn(tags.get("s") ?? "*");
  if (!services.includes("*") && !services.includes("email")) return "its key is not for mail";
  if (!listedIn(tags.get("h") ?? "sha256").includes("sha256")) return "its key does not allow SHA-256";
  const type = (tags.get("k") ?? "rsa").toLowerCase();
  return type === "rsa" || type === "ed25519" ? undefined : "its key is of an unknown type";
}

/** A SubjectPublicKeyInfo, as it is published in practice, or an RSAPublicKey, as RFC 6376 §3.6.1 says. */
function rsaKey(der: Buffer): KeyObject {
  try {
    return createPublicKey({ key: der, format: "der", type: "spki" });
  } catch {
    return createPublicKey({ key: der, format: "der", type: "pkcs1" });
  }
}

/** A bare key of 32 bytes (RFC 8463 §4.2). */
function ed25519Key(bytes: Buffer): KeyObject {
  if (bytes.length !== 32) throw new Error("not a key of Ed25519");
  return createPublicKey({ key: Buffer.concat([ed25519Prefix, bytes]), format: "der", type: "spki" });
}

const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");
