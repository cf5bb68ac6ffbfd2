import { visibleText } from "../standards/text.ts";

/**
 * Writes all output of a command. Subjects, names and other servers' replies come from strangers: a control character in them
 * could rewrite the screen, or make the terminal insert text as if it were typed.
 */
export function print(text: string, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(visible(text));
}

/** Writes to stdout. Resolves when the reader has taken the text, so that memory stays bounded, or when the signal aborts. */
export function printTaken(text: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    process.stdout.write(visible(text), done);
  });
}

/** Writes bytes to stdout as they are, for a file or another program; for a terminal as text without control characters. */
export async function printBytes(bytes: Uint8Array): Promise<void> {
  if (process.stdout.isTTY) return print(new TextDecoder().decode(bytes).replaceAll("\r\n", "\n"));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  await promise;
}

function visible(text: string): string {
  return visibleText(text).replaceAll("\r", "\ufffd");
}

/** A value as JSON without control characters. Also escapes U+007F to U+009F, which `JSON.stringify` leaves and some terminals obey. */
export function jsonOf(value: unknown, indent?: number): string {
  const escaped = (control: string) => `\\u00${control.charCodeAt(0).toString(16)}`;
  return `${JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]/g, escaped)}\n`;
}

export interface Stopping {
  signal: AbortSignal;
  stop(): void;
  /** Removes the handlers: SIGINT and SIGTERM then end the process again. */
  end(): void;
}

/** Aborts at the first SIGINT or SIGTERM. The second one ends the process at once. */
export function untilSignal(): Stopping {
  const controller = new AbortController();
  const stop = () => {
    end();
    controller.abort();
  };
  const end = () => void process.off("SIGINT", stop).off("SIGTERM", stop);
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return { signal: controller.signal, stop, end };
}
