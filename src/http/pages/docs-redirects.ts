import { Elysia } from "elysia";

/**
 * What people type who look for the documentation. The way there is relative, so that it also leads there under a proxy's prefix, and
 * found anew each time, since a browser keeps a way that is said to be for good.
 */
export function docsRedirects() {
  return new Elysia()
    .get("/", ({ set }) => sendTo("docs", set), hidden)
    .get("/docs/", ({ set }) => sendTo("../docs", set), hidden);
}

const hidden = { detail: { hide: true } };

function sendTo(location: string, set: { status?: number | string; headers: Record<string, string | number> }): string {
  set.status = 302;
  set.headers.location = location;
  return "";
}
