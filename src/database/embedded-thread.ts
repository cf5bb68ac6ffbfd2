/**
 * The thread of the embedded engine, which answers messages one after the other. While the engine computes and waits for the disk, the
 * service's event loop runs, and the next batch gathers there.
 */
import { abandon, type Engine, startEngine } from "./embedded-engine.ts";
import { EngineNotStarted } from "./embedded-failure.ts";

/** A message to the thread: the start in a directory, statements in the wire protocol, and at last one of the two ends. */
export type ToThread =
  | { directory: string; program: WebAssembly.Module }
  | Uint8Array<ArrayBuffer>
  | "close"
  | "abandon";

/** The answer to a message. `flushes` counts the flushes to the disk since the last answer. */
export type FromThread = { flushes: number } & ({ bytes: Uint8Array } | { failure: string; isNotStarted: boolean });

let engine: Engine | undefined;
let flushes = 0;

// Statements are answered in their order: the engine runs each of them without letting the event loop of the thread continue.
self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
  try {
    const bytes = await answerTo(data);
    send({ flushes, bytes }, [bytes.buffer]);
  } catch (error) {
    const isNotStarted = error instanceof EngineNotStarted;
    const failure = isNotStarted ? error.words : error instanceof Error ? error.message : String(error);
    send({ flushes, failure, isNotStarted });
  }
};

function send(answer: FromThread, moved: ArrayBuffer[] = []): void {
  flushes = 0;
  postMessage(answer, moved);
}

async function answerTo(message: ToThread): Promise<Uint8Array<ArrayBuffer>> {
  if (message instanceof Uint8Array) return run(message);
  if (message === "close") await engine?.close();
  else if (message === "abandon") engine && abandon(engine);
  else engine = await startEngine(message.directory, message.program, () => flushes++);
  return new Uint8Array(0);
}

/**
 * Runs statements, and frees their message, since the collector would do it late (embedded-engine.ts). The engine's own reader of answers is
 * not used, because its objects would be copied to the other thread.
 */
async function run(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  try {
    await engine?.execProtocolRawStream(message, { syncToFs: false, onRawData: (part) => parts.push(part.slice()) });
  } catch (error) {
    // An engine that ends has often answered with the reason before.
    if (parts.length === 0) throw error;
  } finally {
    if (message.length > largeBytes) message.buffer.transfer(0);
  }
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) return only;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Messages above this length have files and large mails. */
const largeBytes = 64 << 10;
