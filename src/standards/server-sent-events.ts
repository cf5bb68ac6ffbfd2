/**
 * An event stream as the HTML standard has it (§9.2). Data is one line here: what JSON is written as has no line ends.
 */
export function eventFrame({ event, id, data }: { event: string; id?: string; data: string }): Uint8Array<ArrayBuffer> {
  return utf8.encode(`event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
}

/** Nothing is dispatched, but a client that comes again says that it stood here. */
export function idFrame(id: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`id: ${id}\n\n`);
}

/** How long a client waits before it comes again. */
export function retryFrame(ms: number): Uint8Array<ArrayBuffer> {
  return utf8.encode(`retry: ${ms}\n\n`);
}

/** What clients pass over, and what keeps proxies from believing that nobody is there. */
export function commentFrame(text: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`: ${text}\n\n`);
}

const utf8 = new TextEncoder();
