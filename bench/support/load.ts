/** A load on an HTTP address over kept connections, each asking again as soon as it is answered. */
export interface Load {
  url: string;
  method?: string;
  headers?: Record<string, string>;
  /** The body of each request; the number makes it unlike the others. */
  body?: (number: number) => string;
  /** Headers of each request beside the common ones. */
  headersOf?: (number: number) => Record<string, string>;
  connections: number;
  /** Ends after so long or after so many requests, whichever is first. */
  seconds?: number;
  requests?: number;
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** How often each status came. */
  statuses: Record<string, number>;
}

/** Sockets and counting alone: a client that parses whole answers would measure itself. */
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
      `${of.method ?? "GET"} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join("")}\r\n${body}`,
    );
  }

  async function connection(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let received: Buffer = Buffer.alloc(0);
    let askedMs = 0;
    const ask = (socket: { write(data: Buffer): unknown; end(): unknown }) => {
      askedMs = performance.now();
      if (askedMs >= endMs || sent >= most) {
        socket.end();
        resolve();
      } else socket.write(nextRequest());
    };
    await Bun.connect({
      hostname: url.hostname,
      port: Number(url.port),
      socket: {
        open: ask,
        data(socket, chunk) {
          received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
          const headEnd = received.indexOf("\r\n\r\n");
          if (headEnd === -1) return;
          const head = received.toString("latin1", 0, headEnd);
          const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
          if (received.length < headEnd + 4 + length) return;
          received = Buffer.alloc(0);
          latencies.push(performance.now() - askedMs);
          const status = head.slice(9, 12);
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

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}
