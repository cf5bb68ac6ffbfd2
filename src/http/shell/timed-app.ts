/** Told of each request: the route's pattern, never the path, which names inboxes and may be anything. */
export type RequestObserver = (method: string, route: string, status: number, seconds: number) => void;

/** What serves requests: an app, or one that is timed. */
export interface Fetching {
  fetch(request: Request): Response | Promise<Response>;
}

export interface Routed extends Fetching {
  readonly routes: readonly { path: string }[];
}

/** The app, with each answer told of as it begins. Around the app and not a hook in it, which would cost more. */
export function timedApp(app: Routed, observe: RequestObserver): Fetching {
  const routeOf = routeNames(app.routes.map(({ path }) => path));
  function tell(request: Request, status: number, startedMs: number): void {
    observe(knownMethod(request.method), routeOf(pathOf(request.url)), status, (performance.now() - startedMs) / 1000);
  }
  return {
    async fetch(request) {
      const startedMs = performance.now();
      const response = await app.fetch(request);
      tell(request, response.status, startedMs);
      return response;
    },
  };
}

/** What no route has is `other`: a stranger must not be able to make us remember names. */
export function routeNames(patterns: readonly string[]): (path: string) => string {
  const bySize = Map.groupBy(
    [...new Set(patterns)]
      .filter((pattern) => !pattern.includes("*"))
      .map((pattern) => ({ pattern, parts: pattern.split("/") }))
      // What is written out goes before what is open.
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
