import { expect, test } from "bun:test";
import { readEndpointHeaders } from "../../../src/domain/events/endpoint-headers.ts";

test.each([
  ["a gateway's key", { "X-Gateway-Key": "4711" }],
  ["the usual credential", { Authorization: "Bearer a b c" }],
  ["a cookie", { cookie: "a=b; c=d" }],
  ["a value of 1,000 characters", { "X-Long": "a".repeat(1000) }],
  ["ten names", Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`X-${index}`, "a"]))],
  ["none", {}],
])("Allowed is %s", (_, asked) => {
  const { headers, faults } = readEndpointHeaders(asked);
  expect(faults).toEqual([]);
  expect(headers).toEqual(Object.entries(asked).map(([name, value]) => ({ name, value })));
});

const ours = /the service sets it or it frames the request/;
const value = /must be 1 to 1000 characters of ASCII, without blanks at its ends/;
test.each<[string, Record<string, string>, RegExp]>([
  ["a field of the signature", { "X-Signature": "00" }, ours],
  ["another signature", { "x-hub-SIGNATURE": "00" }, ours],
  ["a field of Standard Webhooks", { "Webhook-Id": "1" }, ours],
  ["the length of the body", { "Content-Length": "0" }, ours],
  ["the transfer coding", { "transfer-encoding": "chunked" }, ours],
  ["the place in a trace", { Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }, ours],
  ["the host", { Host: "other.example" }, ours],
  ["a field of a proxy", { "Proxy-Authorization": "Basic x" }, ours],
  ["a name with a blank", { "X Key": "1" }, /must be a header name/],
  ["a name with a line break", { "X-Key\r\nHost": "1" }, /must be a header name/],
  ["no name", { "": "1" }, /must be a header name/],
  ["an empty value", { "X-Key": "" }, value],
  ["a value with a line break", { "X-Key": "a\r\nHost: other.example" }, value],
  ["a value beyond ASCII", { "X-Key": "é" }, value],
  ["a value with a blank at its end", { "X-Key": "a " }, value],
  ["a value of 1,001 characters", { "X-Key": "a".repeat(1001) }, value],
  ["a name twice", { "X-Key": "1", "x-key": "2" }, /given only once/],
  [
    "eleven names",
    Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`X-${index}`, "a"])),
    /at most 10 names/,
  ],
])("Refused is %s", (_, asked, detail) => {
  expect(readEndpointHeaders(asked).faults).toEqual([
    { pointer: expect.stringMatching(/^#\/headers/), detail: expect.stringMatching(detail) },
  ]);
});
