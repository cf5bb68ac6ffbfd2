import { connect, type Socket } from "node:net";
import type SMTPConnection from "nodemailer/lib/smtp-connection";

/** The library's callbacks and events as one promise for each step. */
export interface Conversation {
  step<T>(limitMs: number, signal: AbortSignal | undefined, run: (done: Done<T>) => void): Promise<T>;
  breakOff(): void;
  isOpen(): boolean;
  tlsFailed(): boolean;
  ended: Promise<void>;
}

type Done<T> = (error: Error | null | undefined, value?: T) => void;

export function converse(connection: SMTPConnection): Conversation {
  let isOpen = true;
  let tlsFailed = false;
  let stop: ((error: Error) => void) | undefined;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  connection.on("error", (error: Error) => {
    tlsFailed = connection.upgrading === true;
    isOpen = false;
    stop?.(error);
  });
  connection.on("end", () => {
    isOpen = false;
    // After a 421 the library closes first and tells the step of it second: the reply says more than the loss.
    queueMicrotask(() => stop?.(new Lost()));
    end();
  });

  async function step<T>(limitMs: number, signal: AbortSignal | undefined, run: (done: Done<T>) => void): Promise<T> {
    if (!isOpen) throw new Lost();
    if (signal?.aborted) throw new CalledOff();
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const stopAndClose = (error: Error) => {
      reject(error);
      connection.close();
    };
    const onAbort = () => stopAndClose(new CalledOff());
    const limit = setTimeout(() => stopAndClose(new Error("it takes too long")), limitMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    stop = reject;
    try {
      // The value is there whenever the error isn't: the library's contract, which its types don't state.
      run((error, value) => (error ? reject(error) : resolve(value as T)));
      return await promise;
    } finally {
      stop = undefined;
      clearTimeout(limit);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  return { step, ended, breakOff: () => connection.close(), isOpen: () => isOpen, tlsFailed: () => tlsFailed };
}

/** A TCP connection to a name or an address. */
export async function connected(
  address: string,
  port: number,
  connectMs: number,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  if (signal?.aborted) throw new CalledOff();
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: address, port });
  const onAbort = () => reject(new CalledOff());
  const limit = setTimeout(() => reject(new Error("no connection in time")), connectMs);
  signal?.addEventListener("abort", onAbort, { once: true });
  socket.once("connect", () => resolve(socket));
  socket.on("error", reject);
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(limit);
    signal?.removeEventListener("abort", onAbort);
  }
}

export class Lost extends Error {
  constructor() {
    super("the connection was lost");
  }
}

class CalledOff extends Error {
  constructor() {
    super("it was called off");
  }
}
