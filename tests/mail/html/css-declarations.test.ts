import { expect, test } from "bun:test";
import { declarationsIn } from "../../../src/mail/html/css-declarations.ts";
import { cpuMs } from "../../support/cpu.ts";

test.each([
  ["a:b;c:d", ["a:b", "c:d"]],
  ['a:";" /* ; */;b', ['a:""  ', "b"]],
  ["a:url(;'));b", ["a:url())", "b"]],
  ["url;(a;b);c", ["url", "(a;b)", "c"]],
  ["a:(;[;]);b", ["a:(;[;])", "b"]],
  ["d\\69splay:none", ["display:none"]],
])("%j is %j", (style, declarations) => {
  expect(declarationsIn(style)).toEqual(declarations);
});

test.each(["(", "()", "(;", "a(", "url(", "url( ", "[{", '"', "'\n", "/*", "\\", "\\41", "([)"])(
  "a megabyte of %j is divided in a moment",
  (piece) => {
    const style = piece.repeat(1_000_000 / piece.length);
    const startMs = cpuMs();
    expect(declarationsIn(style).length).toBeGreaterThan(0);
    expect(cpuMs() - startMs).toBeLessThan(3_000);
  },
);
