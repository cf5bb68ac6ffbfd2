/**
 * Called for each request with the pattern of its route. Never with the path, which names inboxes and can be anything.
 */
export type RequestObserver = (method: string, route: string, status: number, seconds: number) => void;

/** Anything that serves requests: an app or a wrapper of one. */
export interface Fetching {
  fetch(request: Request): Response | Promise<Response>;
}

export interface Routed extends Fetching {
  readonly routes: readonly { path: string }[];
}

/** Wraps the app and reports each answer as it begins. A hook inside the app would cost more. */
export function timedApp(app: Routed, observe: RequestObserver): Fetching {
  const namesOf = requestNames(app.routes);
  function report(request: Request, status: number, startedMs: number): void {
    const { method, route } = namesOf(request);
    observe(method, route, status, (performance.now() - startedMs) / 1000);
  }
  return {
    async fetch(request) {
      const startedMs = performance.now();
      const response = await app.fetch(request);
      report(request, response.status, startedMs);
      return response;
    },
  };
}

/** Finds the method and the route of a request as metrics and traces name them. */
export function requestNames(routes: Routed["routes"]): (request: Request) => { method: string; route: string } {
  const routeOf = routeNames(routes.map(({ path }) => path));
  return (request) => ({ method: knownMethod(request.method), route: routeOf(pathOf(request.url)) });
}

/** Finds the pattern of a path, or `other` if there is none: callers must not be able to add names to the metrics. */
export function routeNames(patterns: readonly string[]): (path: string) => string {
  const bySize = Map.groupBy(
    [...new Set(patterns)]
      .filter((pattern) => !pattern.includes("*"))
      .map((pattern) => ({ pattern, parts: pattern.split("/") }))
      // Patterns with fewer parameters come first.
      .sort((one, other) => openParts(one.parts) - openParts(other.parts)),
    ({ parts }) => parts.length,
  );
  return (path) => {
    const segments = path.split("/");
    const found = bySize
      .get(segments.length)
      ?.find(({ parts }) => parts.every((part, at) => part.startsWith(":") || part === segments[at]));
    return found?.pattern ?? "other";
  };
}

function openParts(parts: readonly string[]): number {
  return parts.filter((part) => part.startsWith(":")).length;
}

function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  return url.slice(start, end === -1 ? undefined : end);
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

function knownMethod(method: string): string {
  return methods.has(method) ? method : "other";
}
