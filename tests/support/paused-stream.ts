import { connect, type Socket } from "node:net";
import { frameParser, type StreamFrame } from "./event-stream.ts";

/** A client of an event stream that reads nothing until the test resumes it. */
export interface PausedStream {
  /** Everything that it has read, in order. */
  readonly frames: readonly StreamFrame[];
  /** Ids of events that it has read. */
  ids(): string[];
  resume(): void;
  /** Resolves at the end of the stream, after it was resumed. */
  over: Promise<void>;
  close(): void;
}

export async function pausedStream(url: URL, apiKey: string): Promise<PausedStream> {
  const frames: StreamFrame[] = [];
  const parsed = frameParser();
  const bodyOf = unchunker();
  const socket = await new Promise<Socket>((resolve) => {
    const made = connect(Number(url.port), url.hostname, () => resolve(made));
  });
  socket.pause();
  socket.write(
    `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${apiKey}\r\nConnection: close\r\n\r\n`,
  );
  socket.on("data", (data: Buffer) => {
    for (const piece of bodyOf(data)) frames.push(...parsed(piece));
  });
  // Received data is read even if the connection was cut after it.
  socket.on("error", () => undefined);
  return {
    frames,
    ids: () =>
      frames.flatMap(({ event, id = "" }) => (event === undefined || event === "ready" || id === "" ? [] : [id])),
    resume: () => void socket.resume(),
    over: new Promise((resolve) => socket.once("close", () => resolve())),
    close: () => void socket.destroy(),
  };
}

/** Removes the head and the chunk lengths (`5\r\nhello\r\n`). */
function unchunker(): (data: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  let isBehindHead = false;

  return (data) => {
    const bytes = Buffer.concat([rest, data]);
    const pieces: Buffer[] = [];
    let at = 0;
    if (!isBehindHead) {
      const headEnd = bytes.indexOf("\r\n\r\n");
      if (headEnd === -1) {
        rest = bytes;
        return pieces;
      }
      isBehindHead = true;
      at = headEnd + 4;
    }
    for (;;) {
      const lineEnd = bytes.indexOf("\r\n", at);
      const size = lineEnd === -1 ? Number.NaN : Number.parseInt(bytes.subarray(at, lineEnd).toString(), 16);
      if (Number.isNaN(size) || bytes.length < lineEnd + 4 + size) break;
      pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
      at = lineEnd + 4 + size;
    }
    rest = bytes.subarray(at);
    return pieces;
  };
}
