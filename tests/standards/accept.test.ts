import { expect, test } from "bun:test";
import { acceptedQuality } from "../../src/standards/accept.ts";

test.each([
  [null, 1],
  ["", 1],
  ["*/*", 1],
  ["application/json", 1],
  ["Application/JSON ; charset=utf-8", 1],
  ["application/*;q=0.5", 0.5],
  ["text/html, application/json;q=0.9, */*;q=0.8", 0.9],
  ["*/*, application/json;q=0", 0],
  ["application/*;q=0, */*", 0],
  ["application/json; q=0.250", 0.25],
  ["application/json;profile=x;q=1.000", 1],
  ["application/json;q=1.001", 1],
  ["application/json;q=", 1],
  ["text/html", 0],
  ["application/problem+json", 0],
  [",,;q=0,=", 0],
])("JSON is wanted by Accept: %p as much as %p", (accept, quality) => {
  expect(acceptedQuality(accept, "application/json")).toBe(quality);
});
