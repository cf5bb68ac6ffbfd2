import { readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/**
 * Where to put what need not outlive a run: in memory, where this machine has the room for it. Each database of a test is
 * hundreds of files that reach the disk before it is used. What tests kill are processes, and files survive those in memory too.
 */
export function quickPlace(): string {
  return hasRoomInMemory() ? shared : tmpdir();
}

const shared = "/dev/shm";

/** A container has 64 MB there, and often a mount that forbids programs. */
function hasRoomInMemory(): boolean {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const [, , , options = "noexec"] = mounts.findLast((line) => line.split(" ")[1] === shared)?.split(" ") ?? [];
    const { bavail, bsize } = statfsSync(shared);
    return !options.split(",").includes("noexec") && bavail * bsize >= 4 * 1024 ** 3;
  } catch {
    // Not every system has these files.
    return false;
  }
}
