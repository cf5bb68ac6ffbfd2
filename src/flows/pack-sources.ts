import type { BlobStore } from "../blobs/blob-store.ts";
import { pieceKeyBytes, sealPiece, tagBytes } from "../blobs/sealed-piece.ts";
import { beginningOfIds, instantOfId } from "../domain/ids.ts";
import {
  insertSegment,
  type LookedPiece,
  type LookedSegment,
  listPieceBytes,
  listPieces,
  listPlacedPieces,
  listSegmentsToLookAt,
  markDead,
  markLookedAt,
  type PlacedPiece,
  placePieces,
  removeSegment,
} from "../store/mail/segments.ts";
import type { Deps } from "./deps.ts";

export interface PackingDeps extends Pick<Deps, "db" | "now" | "newId" | "randomBytes"> {
  blobs: BlobStore;
  /** The age in minutes at which sources are packed. */
  blobsAfterMinutes: number;
}

/** The size of a segment. One request writes it whole: an upload in parts that a crash ends would leave parts that no list shows. */
export const segmentBytes = 16 << 20;
/** The most pieces that one statement looks at, and so the most pieces of a segment. */
const lookAt = 5_000;
/** The bytes that one statement reads, and the pieces that one writes. */
const readBytes = 2 << 20;
const placedAtOnce = 500;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * Packs the sources from `fromId` on that are old enough into one segment: seals each piece with a key of its own, writes the object, and
 * then gives the pieces their places. Returns the id from which to go on, or undefined if there is nothing more to do now.
 *
 * A process that dies leaves at worst an object without pieces. Its row is there, so it is removed as one whose pieces are all deleted.
 */
export async function packSources(deps: PackingDeps, fromId: string): Promise<string | undefined> {
  const now = deps.now();
  const afterMs = deps.blobsAfterMinutes * minuteMs;
  const beforeId = beginningOfIds("src", new Date(now.getTime() - afterMs));
  const looked = await listPieces(deps.db.work, fromId, beforeId, lookAt);
  const { taken, nextId } = takenOf(looked);
  const isLast = nextId === undefined;
  const [first] = taken;
  if (isLast && first !== undefined && instantOfId(first.sourceId).getTime() > now.getTime() - 2 * afterMs) {
    // A segment that is not full waits as long again for more, so that a small service does not write an object a minute.
    return undefined;
  }
  if (taken.length > 0) await writeSegment(deps, sealedPieces(deps, taken), now);
  const lastId = looked.at(-1)?.sourceId;
  return nextId ?? (lastId === fromId ? undefined : lastId);
}

interface SizedPiece extends LookedPiece {
  sizeBytes: number;
}

/** Takes pieces until a segment is full. `nextId` is the source with which the next segment begins. */
function takenOf(looked: readonly LookedPiece[]): { taken: SizedPiece[]; nextId: string | undefined } {
  const taken: SizedPiece[] = [];
  let total = 0;
  for (const { sizeBytes, ...piece } of looked) {
    if (sizeBytes === null) continue;
    total += sizeBytes + tagBytes;
    if (total > segmentBytes) return { taken, nextId: piece.sourceId };
    taken.push({ ...piece, sizeBytes });
  }
  return { taken, nextId: looked.length < lookAt ? undefined : looked.at(-1)?.sourceId };
}

type SealedPiece = Omit<PlacedPiece, "segmentAt" | "sealedBytes"> & { sealed: Uint8Array };

async function* sealedPieces(
  { db, randomBytes }: PackingDeps,
  pieces: readonly SizedPiece[],
): AsyncGenerator<SealedPiece> {
  for (const batch of grouped(pieces, readBytes, ({ sizeBytes }) => sizeBytes)) {
    for (const { bytes, ...name } of await listPieceBytes(db.work, batch)) {
      const sealKey = randomBytes(pieceKeyBytes);
      yield { ...name, from: null, sealKey, sealed: await sealPiece(bytes, sealKey) };
    }
  }
}

/** Divides things into groups of at most so many bytes. A thing that is larger has a group of its own. */
function* grouped<Thing>(
  things: readonly Thing[],
  mostBytes: number,
  bytesOf: (thing: Thing) => number,
): Generator<Thing[]> {
  let group: Thing[] = [];
  let total = 0;
  for (const thing of things) {
    if (group.length > 0 && total + bytesOf(thing) > mostBytes) {
      yield group;
      group = [];
      total = 0;
    }
    group.push(thing);
    total += bytesOf(thing);
  }
  if (group.length > 0) yield group;
}

/** Writes a segment and gives its pieces their places. */
async function writeSegment(deps: PackingDeps, pieces: AsyncIterable<SealedPiece>, now: Date): Promise<void> {
  const { db, blobs } = deps;
  const placed: PlacedPiece[] = [];
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const { sealed, ...piece } of pieces) {
    placed.push({ ...piece, segmentAt: sizeBytes, sealedBytes: sealed.length });
    parts.push(sealed);
    sizeBytes += sealed.length;
  }
  if (placed.length === 0) return;
  const id = deps.newId("seg", now);
  await insertSegment(db.work, id, sizeBytes, now);
  await blobs.write(id, joined(parts, sizeBytes));
  for (let at = 0; at < placed.length; at += placedAtOnce) {
    if (await placePieces(db.work, id, placed.slice(at, at + placedAtOnce))) continue;
    // This process stood still for so long that another one has removed the row, and with it all knowledge of the object.
    await blobs.remove(id);
    throw new Error(`Cannot use segment ${id}: it was given up meanwhile`);
  }
}

function joined(parts: readonly Uint8Array[], sizeBytes: number): Uint8Array {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The segments that one statement looks at. Each may have 5,000 pieces to count. */
const segmentsAtOnce = 20;

/**
 * Looks at segments that were not looked at for a day. One without pieces is removed a day after that was first seen: until then a reader, or
 * a copy of the store that is made after a backup of the database, may need it. Those that are half dead are packed anew, several into one.
 * Returns the number of segments it looked at.
 */
export async function sweepSegments(deps: PackingDeps): Promise<number> {
  const { db, blobs } = deps;
  const now = deps.now();
  const looked = await listSegmentsToLookAt(db.work, new Date(now.getTime() - dayMs), segmentsAtOnce);
  const living = looked.filter(({ liveBytes }) => liveBytes > 0);
  const dead = looked.filter(({ liveBytes }) => liveBytes === 0);
  for (const { id } of dead.filter(({ deadAt }) => deadAt !== null)) {
    await blobs.remove(id);
    await removeSegment(db.work, id);
  }
  await markDead(db.work, idsOf(dead.filter(({ deadAt }) => deadAt === null)), now);
  for (const group of grouped(living.filter(isHalfDead), segmentBytes, ({ liveBytes }) => liveBytes))
    await writeSegment(deps, movedPieces(deps, group), now);
  await markLookedAt(db.work, idsOf(living), now);
  return looked.length;
}

function idsOf(segments: readonly LookedSegment[]): string[] {
  return segments.map(({ id }) => id);
}

function isHalfDead({ liveBytes, sizeBytes }: LookedSegment): boolean {
  return liveBytes * 2 <= sizeBytes;
}

/** The living pieces of segments, as they are sealed. */
async function* movedPieces(
  { db, blobs }: PackingDeps,
  segments: readonly LookedSegment[],
): AsyncGenerator<SealedPiece> {
  for (const { id, sizeBytes } of segments) {
    const pieces = await listPlacedPieces(db.work, id);
    if (pieces.length === 0) continue;
    const whole = await blobs.read(id, 0, sizeBytes);
    for (const { segmentAt, sealedBytes, ...piece } of pieces) {
      // A copy, so that the whole segment can be freed before the next one is read.
      yield { ...piece, sealed: whole.slice(segmentAt, segmentAt + sealedBytes) };
    }
  }
}
