import { describe, expect, test } from "bun:test";
import { pageBytes, rowsOfPage } from "../../src/domain/page-budget.ts";

describe("A page ends", () => {
  test.each([
    ["with the last row, where all of them have room", [1, 2, 3], 3],
    ["with the row that fills it", [pageBytes - 1, 1, 1], 2],
    ["before a row that it has no room for", [1, pageBytes, 1], 1],
    ["behind a first row that fills it alone", [pageBytes * 3, 1], 1],
    ["behind what has nothing to carry", [pageBytes, 0, 0, 1], 3],
    ["at once, where there is nothing", [], 0],
  ])("%s", (_, sizes, rows) => {
    expect(rowsOfPage(sizes)).toBe(rows);
  });
});
