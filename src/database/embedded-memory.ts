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
  const zeros = Buffer.alloc(pieceBytes);
  const pieces = Buffer.from(memory.buffer);
  for (let at = 0; at + pieceBytes <= pieces.length; at += pieceBytes) {
    if (pieces.compare(zeros, 0, pieceBytes, at, at + pieceBytes) === 0) {
      libc.symbols.madvise(ptr(memory.buffer, at), pieceBytes, dontNeed);
    }
  }
  libc.close();
}

function open() {
  return dlopen("libc.so.6", {
    madvise: { args: [FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i32 },
  });
}

/** A multiple of the page of every machine. */
const pieceBytes = 64 << 10;

/** MADV_DONTNEED (madvise(2)). */
const dontNeed = 4;
