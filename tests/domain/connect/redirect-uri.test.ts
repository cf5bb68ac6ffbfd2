import { expect, test } from "bun:test";
import {
  isNamedRedirectUri,
  isRedirectUri,
  sourceOfRedirectUri,
  withParameters,
} from "../../../src/domain/connect/redirect-uri.ts";

test.each([
  ["https://claude.ai/api/mcp/auth_callback", true],
  ["http://127.0.0.1/callback", true],
  ["http://[::1]:8080/callback", true],
  ["http://localhost:33418/", true],
  ["cursor://anysphere.cursor-mcp/oauth/callback", true],
  ["com.example.app:/callback", true],
  ["https://192.0.2.1:8443/callback", true],
  ["https://[2001:db8::1]/callback", true],
  ["https://xn--mller-kva.example/callback", true],
  ["https://a.example;b.example/callback", false],
  ["https://a.example,b.example/callback", false],
  ["https://a_b.example/callback", false],
  ["https://*.example/callback", false],
  ["https://'self'/callback", false],
  ["http://a;b.localhost/callback", false],
  ["http://example.com/callback", false],
  ["http://localhost.example.com/callback", false],
  ["https://a.example/#part", false],
  ["https://user@a.example/", false],
  ["https://user:word@a.example/", false],
  ["javascript:alert(1)", false],
  ["JavaScript:alert(1)", false],
  ["data:text/html,x", false],
  ["vbscript:x", false],
  ["file:///etc/passwd", false],
  ["blob:https://a.example/x", false],
  ["view-source:https://a.example/", false],
  ["wss://a.example/", false],
  ["https://a.example/ b", false],
  ["https://a.example/\n", false],
  ["/callback", false],
  ["", false],
])("%s may be an address for the answer: %p", (address, may) => {
  expect(isRedirectUri(address)).toBe(may);
});

test.each([
  ["https://a.example/cb", "https://a.example/cb", true],
  ["https://a.example/cb", "https://a.example/cb/", false],
  ["https://a.example/cb", "https://a.example/cb?x=1", false],
  ["https://a.example/cb", "https://a.example:8443/cb", false],
  ["http://127.0.0.1:1/cb", "http://127.0.0.1:50000/cb", true],
  ["http://127.0.0.1/cb", "http://127.0.0.1:50000/cb", true],
  ["http://127.0.0.1/cb", "http://127.0.0.1:50000/other", false],
  ["http://127.0.0.1/cb", "http://localhost:50000/cb", false],
  ["http://127.0.0.1/cb", "https://127.0.0.1:50000/cb", false],
  ["cursor://a/cb", "cursor://a/cb", true],
  ["cursor://a/cb", "cursor://b/cb", false],
])("a program that has named %s may ask for %s: %p", (named, asked, may) => {
  expect(isNamedRedirectUri([named], asked)).toBe(may);
});

test("the answer is added to the parameters of an address, and the policy names its origin or its scheme", () => {
  expect(withParameters("https://a.example/cb?x=1", { code: "c d", state: undefined })).toBe(
    "https://a.example/cb?x=1&code=c+d",
  );
  expect(["https://a.example/cb?x=1", "cursor://a/cb"].map(sourceOfRedirectUri)).toEqual([
    "https://a.example",
    "cursor:",
  ]);
});
