/** A frame of an event stream (HTML Standard §9.2). The data is JSON, so it has one line. */
export function eventFrame({ event, id, data }: { event: string; id?: string; data: string }): Uint8Array<ArrayBuffer> {
  return utf8.encode(`event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
}

/** Sets the id from which a client resumes, without an event. */
export function idFrame(id: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`id: ${id}\n\n`);
}

/** Sets the time after which a client reconnects. */
export function retryFrame(ms: number): Uint8Array<ArrayBuffer> {
  return utf8.encode(`retry: ${ms}\n\n`);
}

/** A comment, which clients ignore, and which keeps proxies from closing an idle connection. */
export function commentFrame(text: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`: ${text}\n\n`);
}

const utf8 = new TextEncoder();
