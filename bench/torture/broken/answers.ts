type Serve = (request: Request) => Promise<unknown>;

/** A service that changes the requests that it gets. */
export function changeRequests(change: (request: Request) => Promise<Request>): void {
  changeExchanges(async (request, serve) => serve(await change(request)));
}

/** A service that changes its own answers: `change` gets each one. */
export function changeAnswers(change: (request: Request, answer: Response) => Response | Promise<Response>): void {
  changeExchanges(async (request, serve) => {
    const answer = await serve(request);
    return answer instanceof Response ? change(request, answer) : answer;
  });
}

function changeExchanges(exchange: (request: Request, serve: Serve) => Promise<unknown>): void {
  const original = Bun.serve;
  function broken(options: Parameters<typeof original>[0]) {
    const { fetch } = options as { fetch: (this: unknown, ...given: unknown[]) => unknown };
    return original({
      ...options,
      fetch(request: Request, server: unknown) {
        return exchange(request, async (asked) => fetch.call(this, asked, server));
      },
    } as typeof options);
  }
  Bun.serve = broken as typeof original;
}
