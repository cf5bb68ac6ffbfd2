/** A minimal client of an event stream. */
export interface StreamClient {
  status: number;
  headers: Headers;
  /** All received frames, in order. */
  readonly frames: readonly StreamFrame[];
  /** Resolves with the first matching frame, past or future; throws if the stream ends without one. */
  frame(fits: (frame: StreamFrame) => boolean): Promise<StreamFrame>;
  /** Ids of all frames except `ready` and `end`. */
  told(): string[];
  /** Resolves after this number of events. */
  untilTold(count: number): Promise<string[]>;
  readonly lastId: string | undefined;
  over: Promise<void>;
  close(): void;
}

export interface StreamFrame {
  event?: string;
  id?: string;
  data?: string;
  retry?: string;
  comment?: string;
}

export async function openStream(url: URL | string, headers: Record<string, string>): Promise<StreamClient> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal, keepalive: false });
  const frames: StreamFrame[] = [];
  const watchers = new Set<() => void>();
  let isOver = false;

  async function read(): Promise<void> {
    const parsed = frameParser();
    try {
      for await (const chunk of response.body ?? []) {
        frames.push(...parsed(chunk));
        for (const watcher of watchers) watcher();
      }
    } catch {
      // Either side has closed the connection.
    }
    isOver = true;
    for (const watcher of watchers) watcher();
  }

  function wait<Found>(find: () => Found | undefined): Promise<Found> {
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const watcher = () => {
      const found = find();
      if (found === undefined && !isOver) return;
      watchers.delete(watcher);
      if (found !== undefined) resolve(found);
      else reject(new Error(`The stream ended without it: ${JSON.stringify(frames.slice(-3))}`));
    };
    watchers.add(watcher);
    watcher();
    return promise;
  }

  const client: StreamClient = {
    status: response.status,
    headers: response.headers,
    frames,
    frame: (fits) => wait(() => frames.find(fits)),
    told: () =>
      frames.flatMap(({ event, id }) => (event === undefined || id === undefined || event === "ready" ? [] : [id])),
    untilTold: (count) =>
      wait(() => {
        const told = client.told();
        return told.length >= count ? told : undefined;
      }),
    get lastId() {
      return frames.findLast(({ id }) => id !== undefined)?.id;
    },
    over: read(),
    close: () => leaving.abort(),
  };
  return client;
}

/** Returns the frames that each piece of a stream completes. */
export function frameParser(): (piece: Uint8Array) => StreamFrame[] {
  const decoder = new TextDecoder();
  let text = "";
  return (piece) => {
    text += decoder.decode(piece, { stream: true });
    const whole = text.split("\n\n");
    text = whole.pop() ?? "";
    return whole.map(parsedFrame);
  };
}

function parsedFrame(text: string): StreamFrame {
  const frame: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const colon = line.indexOf(": ");
    frame[colon === 0 ? "comment" : line.slice(0, colon)] = line.slice(colon + 2);
  }
  return frame;
}
