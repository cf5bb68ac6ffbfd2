/** A load on an HTTP address: each kept connection sends the next request at once. */
export interface Load {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  /** The body of each request; the number makes it unique. */
  body?: (number: number) => string;
  /** Further headers of each request. */
  headersOf?: (number: number) => Record<string, string>;
  /** Replaces the path of `url`. */
  pathOf?: (number: number) => string;
  connections: number;
  /** The limit: a time or a number of requests, whichever comes first. */
  seconds?: number;
  requests?: number;
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** The number of answers by status. */
  statuses: Record<string, number>;
}

/** Counts on raw sockets: a client that parses whole answers would measure itself. */
export async function load(of: Load): Promise<LoadResult> {
  const url = new URL(of.url);
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  const most = of.requests ?? Number.POSITIVE_INFINITY;
  const startedMs = performance.now();
  const endMs = startedMs + (of.seconds ?? Number.POSITIVE_INFINITY) * 1000;
  let sent = 0;

  function nextRequest(): Buffer {
    const number = sent++;
    const body = of.body?.(number) ?? "";
    const headers = { ...of.headers, ...of.headersOf?.(number) };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    if (of.body) lines.push(`content-length: ${Buffer.byteLength(body)}\r\n`);
    return Buffer.from(
      `${of.method ?? "GET"} ${of.pathOf?.(number) ?? url.pathname + url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join("")}\r\n${body}`,
    );
  }

  async function connection(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let answer = newAnswer();
    let askedMs = 0;
    let unsent: Buffer = Buffer.alloc(0);
    /** Bun writes as much as the kernel has room for, and does not keep the rest. */
    const flush = (socket: { write(data: Buffer): number }) => {
      unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
    };
    const ask = (socket: { write(data: Buffer): number; end(): unknown }) => {
      askedMs = performance.now();
      if (askedMs >= endMs || sent >= most) {
        socket.end();
        resolve();
        return;
      }
      unsent = nextRequest();
      flush(socket);
    };
    await Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        open: ask,
        drain: (socket) => (unsent.length > 0 ? flush(socket) : undefined),
        data(socket, chunk) {
          const status = answer.take(chunk);
          if (status === undefined) return;
          answer = newAnswer();
          latencies.push(performance.now() - askedMs);
          statuses[status] = (statuses[status] ?? 0) + 1;
          ask(socket);
        },
        error: (_socket, error) => reject(error),
        close: () => resolve(),
      },
    });
    return promise;
  }

  await Promise.all(Array.from({ length: of.connections }, connection));
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  latencies.sort((left, right) => left - right);
  return {
    requests: latencies.length,
    perSecond: latencies.length / elapsedSeconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    statuses,
  };
}

/** Collects the head, and from the body only what shows its end. */
function newAnswer() {
  let head: Buffer = Buffer.alloc(0);
  let status: string | undefined;
  let bytesLeft: number | undefined;
  let tail: Buffer = Buffer.alloc(0);

  return {
    /** The status, once the answer is complete. A chunked one is searched for its end, not parsed. */
    take(chunk: Buffer): string | undefined {
      let body = chunk;
      if (status === undefined) {
        head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        const headEnd = head.indexOf("\r\n\r\n");
        if (headEnd === -1) return undefined;
        const fields = head.toString("latin1", 0, headEnd);
        status = fields.slice(9, 12);
        if (!/transfer-encoding: chunked/i.test(fields))
          bytesLeft = Number(/content-length: (\d+)/i.exec(fields)?.[1] ?? 0);
        body = head.subarray(headEnd + 4);
      }
      if (bytesLeft !== undefined) {
        bytesLeft -= body.length;
        return bytesLeft <= 0 ? status : undefined;
      }
      tail = body.length >= lastChunk.length ? body : Buffer.concat([tail.subarray(-lastChunk.length), body]);
      return tail.subarray(-lastChunk.length).equals(lastChunk) ? status : undefined;
    },
  };
}

const lastChunk = Buffer.from("0\r\n\r\n");

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}
