import { portOf } from "../domain/events/webhook-url.ts";

/**
 * The bytes of one POST, or of a GET where there is no body (RFC 9112 §3). Header values that could end their line are a bug of ours, so they throw: a
 * request that was split in two would still look delivered.
 */
export function requestText(url: URL, headers: Readonly<Record<string, string>>, body: string | undefined): string {
  const path = url.pathname + url.search;
  const method = body === undefined ? "GET" : "POST";
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${hostField(url)}\r\naccept: */*\r\naccept-encoding: identity\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) {
      throw new Error(`Cannot send webhook: header ${JSON.stringify(name)} is malformed`);
    }
    text += `${name}: ${value}\r\n`;
  }
  if (body === undefined) return `${text}\r\n`;
  return `${text}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function hostField(url: URL): string {
  const isUsual = portOf(url) === (url.protocol === "https:" ? 443 : 80);
  return isUsual ? url.hostname : `${url.hostname}:${portOf(url)}`;
}
