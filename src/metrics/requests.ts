import type { RequestObserver } from "../http/shell/timed-app.ts";
import { quickBounds } from "./bounds.ts";
import type { Histogram, Registry } from "./registry.ts";

export function requestObserver(metrics: Registry): RequestObserver {
  const requests = metrics.counter("inboxd_http_requests_total", "Requests that were answered", [
    "method",
    "route",
    "status",
  ]);
  const seconds = metrics.histogram(
    "inboxd_http_request_seconds",
    "From a request to the beginning of its answer; a send waits for its first attempt",
    quickBounds,
    ["method", "route"],
  );
  // Labels are put together once for each combination, and not for each request.
  const known = new Map<string, { count: () => void; took: Histogram }>();
  return (method, route, status, tookSeconds) => {
    const key = `${method} ${route} ${status}`;
    let series = known.get(key);
    if (series === undefined) {
      const counter = requests({ method, route, status: classOf(status) });
      series = { count: () => counter.add(), took: seconds({ method, route }) };
      known.set(key, series);
    }
    series.count();
    series.took.observe(tookSeconds);
  };
}

/** `2xx` and its like: of a label with each status there would be too many series. */
export function classOf(status: number): string {
  return `${Math.trunc(status / 100)}xx`;
}
