import { join } from "node:path";
import program from "../../node_modules/@electric-sql/pglite/dist/pglite.wasm" with { type: "file" };
import { isCompiled } from "../primitives/compiled.ts";
import { EngineNotStarted } from "./embedded-failure.ts";
import type { FromThread, ToThread } from "./embedded-thread.ts";

/** An embedded engine in its thread. */
export interface Engine {
  /** Sends messages of the wire protocol, and returns the answers. They are sent at once, and answered in order. */
  send(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array>;
  close(): Promise<void>;
  /** Ends a failed engine, and closes its files: it cannot close itself. */
  abandon(): void;
}

/** Starts an engine on its directory; throws EngineNotStarted, with nothing left open, if that fails. */
export async function startEngine(directory: string, onFlush: () => void): Promise<Engine> {
  const thread = new Worker(threadProgram());
  const waiting: PromiseWithResolvers<Uint8Array>[] = [];
  let hasEnded = false;

  function ask(message: ToThread, moved: ArrayBuffer[] = []): Promise<Uint8Array> {
    if (hasEnded) throw new Error("Cannot ask the embedded engine: its thread has ended");
    const asked = Promise.withResolvers<Uint8Array>();
    waiting.push(asked);
    thread.postMessage(message, moved);
    return asked.promise;
  }

  function end(why = "its thread has ended"): void {
    hasEnded = true;
    thread.terminate();
    for (const { reject } of waiting.splice(0)) reject(new Error(`Cannot ask the embedded engine: ${why}`));
  }

  thread.onmessage = ({ data: answer }: MessageEvent<FromThread>) => {
    for (let flush = 0; flush < answer.flushes; flush++) onFlush();
    const asked = waiting.shift();
    if ("bytes" in answer) asked?.resolve(answer.bytes);
    else asked?.reject(answer.isNotStarted ? new EngineNotStarted(answer.failure) : new Error(answer.failure));
  };
  thread.onerror = ({ message }) => end(message);
  // An engine that exits ends its thread without an error.
  thread.addEventListener("close", () => end());

  try {
    await ask({ directory, program: await compiled() });
  } catch (error) {
    end();
    throw error;
  }
  return {
    send: (message) => ask(message, [message.buffer]),
    async close() {
      if (!hasEnded) await ask("close").finally(() => end());
    },
    abandon() {
      if (!hasEnded)
        void ask("abandon").then(
          () => end(),
          () => end(),
        );
    },
  };
}

function threadProgram(): string {
  return isCompiled ? Bun.main : join(import.meta.dir, "embedded-thread.ts");
}

let compiledProgram: Promise<WebAssembly.Module> | undefined;

/** Returns the engine's program, which is compiled once for all starts. */
export function compiled(): Promise<WebAssembly.Module> {
  compiledProgram ??= Bun.file(program).arrayBuffer().then(WebAssembly.compile);
  return compiledProgram;
}
