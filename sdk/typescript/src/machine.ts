/** Time and chance: this file alone asks the machine for them, and for nothing that a browser, Node 20 or a worker lacks. */
export interface Machine {
  random(): number;
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

export const machine: Machine = { random: Math.random, pause };

/** Ends early with the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** A key that no other call has. Not by `randomUUID`, which browsers keep from pages that came without TLS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
