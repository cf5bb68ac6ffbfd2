import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A small file system in memory, to be filled. */
export interface SmallDisk {
  path: string;
  /** Fills all free space, to the last byte. */
  fill(): void;
  /** Frees the space. */
  free(): void;
  remove(): void;
}

/** Whether this process may mount one, which takes root and a permissive container. */
export const hasSmallDisks = mounts();
if (!hasSmallDisks) console.log("Skipped: full disks, since nothing can be mounted here");

export function smallDisk(megabytes: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), "ibx-disk-"));
  const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=1777`, "tmpfs", path]);
  if (!mounted.success) throw new Error(`Cannot mount a small disk: ${mounted.stderr}`);
  const ballast = join(path, "ballast");
  return {
    path,
    fill() {
      const file = openSync(ballast, "a");
      for (const size of [1 << 20, 1 << 16, 1 << 12]) writeUntilFull(file, Buffer.alloc(size));
      closeSync(file);
    },
    free: () => rmSync(ballast, { force: true }),
    remove() {
      // A lazy unmount: a killed process may still hold its files.
      Bun.spawnSync(["umount", "--lazy", path]);
      rmSync(path, { recursive: true });
    },
  };
}

function writeUntilFull(file: number, piece: Uint8Array): void {
  try {
    while (writeSync(file, piece) === piece.length);
  } catch {
    // The disk is full.
  }
}

function mounts(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    smallDisk(1).remove();
    return true;
  } catch {
    return false;
  }
}
