import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** The fate of an answer in the proxy. */
export type Fate = "arrives" | "is lost" | "is late" | "is doubled";

export interface LossyProxy extends AsyncDisposable {
  url: string;
  /** The number of answers with each fate. */
  readonly fates: ReadonlyMap<Fate, number>;
}

const fates: readonly Fate[] = ["arrives", "is lost", "arrives", "is late", "arrives", "is doubled"];

export interface LossyProxyOptions {
  /** The address behind it. */
  to: URL;
  /** The fates of the answers, in turn. */
  turns?: readonly Fate[];
  /** Headers that it adds to each request, as a proxy that replaces a session cookie by a key. */
  headers?(request: Request): Record<string, string>;
  /** The requests that it answers itself. */
  own?(path: string): Response | undefined;
  lateMs?: number;
}

/** A proxy that forwards each request, and then loses or delays its answer, or has sent the request twice. */
export async function startLossyProxy({
  to,
  turns = fates,
  headers,
  own,
  lateMs = 20,
}: LossyProxyOptions): Promise<LossyProxy> {
  const counted = new Map<Fate, number>();
  let turn = 0;
  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray());
    const { method = "GET", url = "/" } = incoming;
    const request = new Request(new URL(url, to), {
      method,
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body }),
    });
    const answered = own?.(new URL(request.url).pathname);
    if (answered !== undefined) return send(answered, outgoing);
    const fate = turns[turn % turns.length] ?? "arrives";
    turn += 1;
    counted.set(fate, (counted.get(fate) ?? 0) + 1);
    const left = new AbortController();
    outgoing.once("close", () => left.abort());
    const more = Object.entries(headers?.(request) ?? {});
    for (const [name, value] of more) request.headers.set(name, value);
    const passOn = () => fetch(request.clone(), { signal: left.signal });
    const [first, second] = await Promise.all([passOn(), fate === "is doubled" ? passOn() : undefined]);
    await second?.body?.cancel();
    if (fate === "is late") await Bun.sleep(lateMs);
    if (fate !== "is lost") return send(first, outgoing);
    await first.body?.cancel();
    incoming.socket.destroy();
  }

  // A client or a service that is gone ends the connection.
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fates: counted,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function send({ status, headers, body }: Response, outgoing: ServerResponse): Promise<void> {
  // `fetch` has already decoded the body.
  const told = [...headers].filter(
    ([name]) => !["content-encoding", "content-length", "transfer-encoding"].includes(name),
  );
  outgoing.writeHead(status, Object.fromEntries(told));
  outgoing.flushHeaders();
  if (body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(body as never), outgoing);
}
