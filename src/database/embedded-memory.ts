import { dlopen, FFIType, ptr } from "bun:ffi";

/**
 * Gives the pages of the engine's memory that hold only zeros back to Linux, which then gives them anew, as zeros, when they are used. The
 * engine has written zeros to all of its shared buffers when it starts, and a small database never uses most of them.
 */
export function freeZeros(memory: Uint8Array): void {
  if (process.platform !== "linux") return;
  let libc: ReturnType<typeof open>;
  try {
    libc = open();
  } catch {
    // Another C library, as in Alpine Linux: the memory stays as it is.
    return;
  }
  const zeros = Buffer.alloc(pageBytes);
  const pages = Buffer.from(memory.buffer);
  let start = 0;
  for (let at = 0; at < pages.length; at += pageBytes) {
    if (pages.compare(zeros, 0, pageBytes, at, at + pageBytes) === 0) continue;
    if (at > start) libc.symbols.madvise(ptr(memory.buffer, start), at - start, dontNeed);
    start = at + pageBytes;
  }
  if (pages.length > start) libc.symbols.madvise(ptr(memory.buffer, start), pages.length - start, dontNeed);
  libc.close();
}

function open() {
  return dlopen("libc.so.6", {
    madvise: { args: [FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
  });
}

/** A page of x64, or else a multiple of the page of every machine: madvise rounds a length up to whole pages. */
const pageBytes = process.arch === "x64" ? 4 << 10 : 64 << 10;

/** MADV_DONTNEED (madvise(2)). */
const dontNeed = 4;
