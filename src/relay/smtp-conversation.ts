import { connect, type Socket } from "node:net";
import type SMTPConnection from "nodemailer/lib/smtp-connection";

/** Turns the callbacks and events of the library into one promise for each step. */
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
    // After a 421, the library emits `end` before it reports the reply, which is the better reason. So wait one microtask.
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
    const limit = setTimeout(() => stopAndClose(new Error("it took too long")), limitMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    stop = reject;
    try {
      // There is a value whenever there is no error: the library promises this, but its types do not say it.
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

/** Opens a TCP connection to a name or an address. */
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
    super("the attempt was aborted");
  }
}
