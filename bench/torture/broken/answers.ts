/** A service that changes the requests that it gets. */
export function changeRequests(change: (request: Request) => Promise<Request>): void {
  const serve = Bun.serve;
  function broken(options: Parameters<typeof serve>[0]) {
    const { fetch } = options as { fetch: (this: unknown, ...given: unknown[]) => unknown };
    return serve({
      ...options,
      async fetch(request: Request, server: unknown) {
        return fetch.call(this, await change(request), server);
      },
    } as typeof options);
  }
  Bun.serve = broken as typeof serve;
}

/** A service that changes its own answers: `change` gets each one. */
export function changeAnswers(change: (request: Request, answer: Response) => Response | Promise<Response>): void {
  const serve = Bun.serve;
  function broken(options: Parameters<typeof serve>[0]) {
    const { fetch } = options as { fetch: (this: unknown, ...given: unknown[]) => unknown };
    return serve({
      ...options,
      async fetch(request: Request, server: unknown) {
        const answer = await fetch.call(this, request, server);
        return answer instanceof Response ? change(request, answer) : answer;
      },
    } as typeof options);
  }
  Bun.serve = broken as typeof serve;
}
