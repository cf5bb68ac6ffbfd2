import { S3Client } from "bun";
import { Refusal } from "../domain/errors.ts";

/** The bucket of an S3-compatible store, and the beginning of the names of our objects in it. */
export interface BlobPlace {
  bucket: string;
  /** Empty, or with a slash at its end. */
  prefix: string;
  /** The address of the store; undefined: that of Amazon in the region. */
  endpoint: string | undefined;
  region: string;
}

export interface BlobSettings extends BlobPlace {
  accessKey: string;
  secretKey: string;
}

/** Objects in an S3-compatible store. An object is never changed after it was written. */
export interface BlobStore {
  /** Writes an object, and reads its size back. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Reads a range of an object. Throws `BlobsAway` unless the store has all of it. */
  read(name: string, first: number, sizeBytes: number): Promise<Uint8Array>;
  /** Removes an object, if it is there. */
  remove(name: string): Promise<void>;
}

export const blobOperations = ["write", "size", "read", "remove"] as const;

export type BlobOperation = (typeof blobOperations)[number];

/** Called after each request to the store. */
export type ObserveBlobs = (operation: BlobOperation, isDone: boolean) => void;

/** A request to the store failed. Callers of the API get 503 for the bytes, and workers try again later. */
export class BlobsAway extends Refusal {
  constructor(operation: BlobOperation, why: string) {
    super("service_unavailable", `Cannot ${words[operation]} the object store: ${why}`, { retryAfterSeconds: 10 });
    this.name = "BlobsAway";
  }
}

const words = { write: "write to", size: "read a size from", read: "read from", remove: "remove from" };

/** The time limits of requests. A write has up to 16 MiB. */
const timeLimitsMs = { write: 120_000, size: 10_000, read: 10_000, remove: 10_000 };
const methods = { write: "PUT", size: "HEAD", read: "GET", remove: "DELETE" } as const;
/** How long the signature of a request is valid. Clocks may differ by minutes. */
const signedSeconds = 900;
const shownErrorBytes = 300;

/**
 * Opens a store. The requests are signed by Bun's client and sent by `fetch`: the client itself has no time limits, and a request to a store
 * that never answers would stay for minutes.
 */
export function openBlobStore(settings: BlobSettings, observe: ObserveBlobs = () => undefined): BlobStore {
  const { bucket, prefix, endpoint, region, accessKey, secretKey } = settings;
  const client = new S3Client({
    bucket,
    region,
    // The client writes it into the address as it is, and a store reads it decoded: Swift's has a colon.
    accessKeyId: encodeURIComponent(accessKey),
    secretAccessKey: secretKey,
    ...(endpoint !== undefined && { endpoint }),
  });

  /** Sends a request and takes its answer. */
  async function ask<Answer>(
    operation: BlobOperation,
    name: string,
    init: RequestInit,
    take: (response: Response) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      const method = methods[operation];
      const url = client.presign(`${prefix}${name}`, { method, expiresIn: signedSeconds });
      const signal = AbortSignal.timeout(timeLimitsMs[operation]);
      const response = await fetch(url, { ...init, method, signal, redirect: "manual" });
      if (!response.ok && !(operation === "remove" && response.status === 404)) {
        throw new BlobsAway(operation, await refusalOf(response));
      }
      const answer = await take(response);
      observe(operation, true);
      return answer;
    } catch (error) {
      observe(operation, false);
      throw error instanceof BlobsAway ? error : new BlobsAway(operation, reasonOf(error));
    }
  }

  return {
    async write(name, bytes) {
      await ask("write", name, { body: bytes as Uint8Array<ArrayBuffer> }, (response) => response.bytes());
      const written = await ask("size", name, {}, async ({ headers }) => Number(headers.get("content-length")));
      if (written !== bytes.length) {
        throw new BlobsAway("write", `it has ${written} bytes of an object of ${bytes.length}`);
      }
    },
    read(name, first, sizeBytes) {
      const range = `bytes=${first}-${first + sizeBytes - 1}`;
      return ask("read", name, { headers: { range } }, async (response) => {
        if (response.status !== 206) throw new BlobsAway("read", "it ignores ranges");
        const bytes = await response.bytes();
        if (bytes.length !== sizeBytes) throw new BlobsAway("read", `it sent ${bytes.length} bytes of ${sizeBytes}`);
        return bytes;
      });
    },
    async remove(name) {
      await ask("remove", name, {}, (response) => response.bytes());
    },
  };
}

/** The status of a refusal, with the code in its XML, such as NoSuchKey or AccessDenied. */
async function refusalOf(response: Response): Promise<string> {
  const text = (await response.text()).slice(0, shownErrorBytes);
  const [, code] = /<Code>(\w{1,64})<\/Code>/.exec(text) ?? [];
  return `it answered ${response.status}${code === undefined ? "" : ` ${code}`}`;
}

/** The error of a connection, without its text, which can have the signed address. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "it failed";
  if (error.name === "TimeoutError") return "it did not answer in time";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
