/** What becomes of an answer on its way through the proxy. */
export type Fate = "arrives" | "is lost" | "is late" | "is doubled";

export interface LossyProxy extends AsyncDisposable {
  url: string;
  /** How many answers had each fate. */
  readonly fates: ReadonlyMap<Fate, number>;
}

const fates: readonly Fate[] = ["arrives", "is lost", "arrives", "is late", "arrives", "is doubled"];

export interface LossyProxyOptions {
  /** Where it leads. */
  to: URL;
  /** Which answers have which fate, in turn. */
  turns?: readonly Fate[];
  /** What each request has besides its own, as a session's cookie that a proxy trades for its key. */
  headers?(request: Request): Record<string, string>;
  /** What it answers itself. */
  own?(path: string): Response | undefined;
  lateMs?: number;
}

/** A proxy that carries each request out, and then loses every other answer, keeps it back, or has asked twice. */
export function startLossyProxy({ to, turns = fates, headers, own, lateMs = 20 }: LossyProxyOptions): LossyProxy {
  const counted = new Map<Fate, number>();
  let turn = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const answered = own?.(pathname);
      if (answered !== undefined) return answered;
      const fate = turns[turn % turns.length] ?? "arrives";
      turn += 1;
      counted.set(fate, (counted.get(fate) ?? 0) + 1);
      const body = await request.bytes();
      const passOn = () =>
        fetch(new URL(pathname + search, to), {
          method: request.method,
          headers: { ...Object.fromEntries(request.headers), ...headers?.(request) },
          ...(body.length > 0 && { body }),
          signal: request.signal,
        });
      const [answer, second] = await Promise.all([passOn(), fate === "is doubled" ? passOn() : undefined]);
      await second?.body?.cancel();
      if (fate === "is late") await Bun.sleep(lateMs);
      if (fate !== "is lost") return answer;
      await answer.body?.cancel();
      // Half of an answer: the promised bytes never come.
      return new Response(
        new ReadableStream({
          start(controller) {
            controller.error(new Error("lost"));
          },
        }),
      );
    },
    error: () => new Response(null, { status: 502 }),
  });
  return {
    url: server.url.origin,
    fates: counted,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
