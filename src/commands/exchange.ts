import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

export interface Exchange {
  method: string;
  url: URL;
  headers?: Record<string, string>;
  body?: string;
  timeoutMs: number;
}

export interface Exchanged {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * One request and its answer; a redirect is an answer. Loopback is asked by node:http, because `fetch` would go to a
 * proxy of the environment even for that.
 */
export function exchange(asked: Exchange): Promise<Exchanged> {
  return isLoopback(asked.url) ? directly(asked) : byFetch(asked);
}

export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || /^127\.|^\[::1\]$/.test(hostname);
}

async function byFetch({ url, timeoutMs, ...init }: Exchange): Promise<Exchanged> {
  const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function directly({ method, url, headers = {}, body = "", timeoutMs }: Exchange): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const sized = bytes.length === 0 ? headers : { ...headers, "content-length": String(bytes.length) };
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = open(url, { method, headers: sized, agent: false }, async (response) => {
      try {
        const text = Buffer.concat(await response.toArray()).toString();
        const told = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
        resolve({ status: response.statusCode ?? 0, headers: new Headers(told), text });
      } catch (error) {
        reject(error);
      } finally {
        clearTimeout(timer);
      }
    });
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    request.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    request.end(bytes);
  });
}
