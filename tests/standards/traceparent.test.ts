import { expect, test } from "bun:test";
import { parseTraceParent, writeTraceParent } from "../../src/standards/traceparent.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

test("A field that was written is read again", () => {
  expect(writeTraceParent({ traceId, spanId })).toBe(`00-${traceId}-${spanId}-01`);
  expect(parseTraceParent(writeTraceParent({ traceId, spanId }))).toEqual({ traceId, spanId, isSampled: true });
});

test.each([
  ["a caller that records nothing", `00-${traceId}-${spanId}-00`, false],
  ["other flags beside", `00-${traceId}-${spanId}-03`, true],
  ["a later version", `01-${traceId}-${spanId}-01`, true],
  ["a later version with more behind", `cc-${traceId}-${spanId}-01-what-it-adds`, true],
])("%s", (_what, field, isSampled) => {
  expect(parseTraceParent(field)).toEqual({ traceId, spanId, isSampled });
});

test.each([
  ["no field", null],
  ["an empty field", ""],
  ["capitals", `00-${traceId.toUpperCase()}-${spanId}-01`],
  ["more behind version 00", `00-${traceId}-${spanId}-01-more`],
  ["the version that is never used", `ff-${traceId}-${spanId}-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
  ["a span of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
  ["a short trace", `00-${traceId.slice(1)}-${spanId}-01`],
  ["another notation", `${traceId}:${spanId}:0:1`],
])("Nothing is read from %s", (_what, field) => {
  expect(parseTraceParent(field)).toBeUndefined();
});
