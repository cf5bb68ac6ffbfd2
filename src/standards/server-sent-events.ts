/** A frame of an event stream (HTML Standard §9.2). `data` must be one line, like JSON. */
export function eventFrame({ event, id, data }: { event: string; id?: string; data: string }): Uint8Array<ArrayBuffer> {
  return utf8.encode(`event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`);
}

/** A frame that sets the id from which a client resumes, without an event. */
export function idFrame(id: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`id: ${id}\n\n`);
}

/** A frame that sets the time after which a client reconnects. */
export function retryFrame(ms: number): Uint8Array<ArrayBuffer> {
  return utf8.encode(`retry: ${ms}\n\n`);
}

/** A frame with a comment. Clients ignore it, but proxies see that the connection is not idle. */
export function commentFrame(text: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(`: ${text}\n\n`);
}

const utf8 = new TextEncoder();
