export interface RawResponse {
  status: number;
  headers: Headers;
  body: string;
}

/** Raw HTTP over one connection, for requests that `fetch` cannot send. Answers come in order. */
export async function connectRaw(target: { port: number } | { unix: string }) {
  let received = "";
  let wake = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let unsent: Uint8Array = new Uint8Array();
  /** Bun writes as much as the kernel has room for, and does not keep the rest. */
  const flush = (to: { write(bytes: Uint8Array): number }) => {
    unsent = unsent.subarray(Math.max(0, to.write(unsent)));
  };
  const socket = {
    data(_: unknown, bytes: Uint8Array) {
      received += Buffer.from(bytes).toString("latin1");
      wake.resolve();
    },
    close() {
      closed.resolve();
      wake.resolve();
    },
    drain: flush,
    error() {},
  };
  const connection =
    "unix" in target
      ? await Bun.connect({ unix: target.unix, socket })
      : await Bun.connect({ hostname: "127.0.0.1", port: target.port, socket });
  let isClosed = false;
  void closed.promise.then(() => {
    isClosed = true;
  });

  return {
    closed: closed.promise,
    send(text: string) {
      unsent = Buffer.concat([unsent, Buffer.from(text)]);
      flush(connection);
    },
    end: () => void connection.end(),
    /** The received bytes that no answer has used. */
    rest: () => received,
    /** The next whole response, or `undefined` if the connection ended before it. */
    async response({ toHead = false } = {}): Promise<RawResponse | undefined> {
      for (;;) {
        const end = received.indexOf("\r\n\r\n");
        if (end !== -1) {
          const [statusLine = "", ...fields] = received.slice(0, end).split("\r\n");
          const headers = new Headers(fields.map((field) => field.split(/: (.*)/s).slice(0, 2) as [string, string]));
          const size = toHead ? 0 : Number(headers.get("content-length") ?? 0);
          if (received.length >= end + 4 + size) {
            const body = received.slice(end + 4, end + 4 + size);
            received = received.slice(end + 4 + size);
            return { status: Number(statusLine.split(" ")[1]), headers, body };
          }
        }
        if (isClosed) return undefined;
        wake = Promise.withResolvers();
        await wake.promise;
        await Promise.resolve();
      }
    },
  };
}
