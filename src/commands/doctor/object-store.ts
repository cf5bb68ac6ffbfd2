import { type BlobSettings, type BlobStore, BlobsAway, openBlobStore } from "../../blobs/blob-store.ts";
import { type Finding, findingsOf } from "./finding.ts";

export interface ObjectStoreQuestion {
  blobs: BlobSettings | undefined;
  /** Whether the database names objects in a store. */
  hasSegments: boolean;
  now: Date;
}

/** Checks that the object store lets us write, read and delete. Without BLOBS it is silent, unless older mail is in a store. */
export async function checkObjectStore({ blobs, hasSegments, now }: ObjectStoreQuestion): Promise<Finding[]> {
  const { ok, fail } = findingsOf("object store");
  if (blobs === undefined) {
    const seen = "BLOBS is not set, and older raw mail is in an object store: requests for it are answered 503";
    return hasSegments ? [fail(seen, "Set BLOBS, BLOBS_ACCESS_KEY and BLOBS_SECRET_KEY as they were")] : [];
  }
  try {
    await tryOut(openBlobStore(blobs), `doctor_${now.getTime()}`);
    return [ok(`objects can be written, read and deleted in ${blobs.bucket}`)];
  } catch (error) {
    if (!(error instanceof BlobsAway)) throw error;
    return [fail(error.message, advice)];
  }
}

const advice =
  "Check the endpoint, the bucket, the keys and what they may do, and this machine's clock: mail stays in the database until the store takes it";

async function tryOut(store: BlobStore, name: string): Promise<void> {
  const bytes = new TextEncoder().encode("written by inboxd doctor");
  await store.write(name, bytes);
  const read = await store.read(name, 8, 2);
  await store.remove(name);
  if (new TextDecoder().decode(read) !== "by") throw new BlobsAway("read", "it sent other bytes than were written");
}
