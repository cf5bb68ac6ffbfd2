/** Time and chance. Only this file takes them from the machine, by means that browsers, Node 20 and workers have. */
export interface Machine {
  random(): number;
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

export const machine: Machine = { random: Math.random, pause };

/** Resolves after `ms`, or as soon as the signal is aborted. */
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

/** A controller that the signal aborts too, until it has aborted or is released. */
export function controllerWith(signal: AbortSignal | undefined): AbortController & { release(): void } {
  const controller = new AbortController();
  const end = () => controller.abort(signal?.reason);
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { signal: controller.signal });
  return Object.assign(controller, { release: () => signal?.removeEventListener("abort", end) });
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** A random key. Without `randomUUID`, which browsers have only in pages that were loaded by TLS. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
