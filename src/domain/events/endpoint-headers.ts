import { type ReadHeaders, readHeaders } from "../read-headers.ts";

/** The most header fields that an endpoint may have. */
export const mostEndpointHeaders = 10;
const longestValue = 1000;

/**
 * Reads the header fields that are sent with each delivery of an endpoint, for example the key of a gateway. Fields that the service sets,
 * and those that frame a request (RFC 9110, RFC 9112), are forbidden.
 */
export function readEndpointHeaders(asked: Readonly<Record<string, string>> | undefined): ReadHeaders {
  return readHeaders(asked, mostEndpointHeaders, ({ key, value }) => {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/.test(key)) return "must be a header name of at most 100 characters";
    if (isOurs(key)) return "cannot be set here, because the service sets it or it frames the request";
    const isText = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && value.length <= longestValue;
    return isText ? undefined : `must be 1 to ${longestValue} characters of ASCII, without blanks at its ends`;
  });
}

function isOurs(key: string): boolean {
  return reserved.has(key) || /^(?:webhook-|proxy-|x-inboxd-)/.test(key) || /^x-.*signature$/.test(key);
}

const reserved: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "traceparent",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "x-event-id",
  "x-timestamp",
]);
