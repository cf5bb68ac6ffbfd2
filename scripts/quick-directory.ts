import { readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/**
 * The directory for temporary files of a run: in memory, if this machine has room for it. A database of a test is hundreds of
 * files that are flushed before use. Files in memory survive the processes that tests kill.
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
