import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isLoopbackHost } from "../standards/host-name.ts";

export interface Exchange {
  method: string;
  url: URL;
  headers?: Record<string, string>;
  body?: string;
  timeoutMs: number;
  /** Whoever asked doesn't wait any more. */
  signal?: AbortSignal;
}

export interface Exchanged {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
  text: string;
}

/**
 * One request and its answer; a redirect is an answer. Loopback is asked by node:http, because `fetch` would go to a
 * proxy of the environment even for that.
 */
export function exchange(asked: Exchange): Promise<Exchanged> {
  return isLoopback(asked.url) ? directly(asked) : byFetch(asked);
}

/** For an answer that comes bit by bit: `fetch`, with loopback past any proxy too. */
export function fetchHere(url: URL, init: RequestInit): Promise<Response> {
  return fetch(url, isLoopback(url) ? { ...init, proxy: false } : init);
}

export function isLoopback({ hostname }: URL): boolean {
  return isLoopbackHost(hostname);
}

async function byFetch({ url, timeoutMs, signal, ...init }: Exchange): Promise<Exchanged> {
  const ends = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
  const response = await fetch(url, { ...init, redirect: "manual", signal: ends });
  const bytes = await response.bytes();
  return { status: response.status, headers: response.headers, bytes, text: new TextDecoder().decode(bytes) };
}

function directly({ method, url, headers = {}, body = "", timeoutMs, signal }: Exchange): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(body);
    const sized = bytes.length === 0 ? headers : { ...headers, "content-length": String(bytes.length) };
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = open(url, { method, headers: sized, agent: false, ...(signal && { signal }) }, async (response) => {
      try {
        const received = Buffer.concat(await response.toArray());
        const told = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(told),
          bytes: received,
          text: received.toString(),
        });
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
