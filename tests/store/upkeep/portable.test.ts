import { expect, test } from "bun:test";
import { is } from "drizzle-orm";
import { getTableConfig, PgTable } from "drizzle-orm/pg-core";
import * as schema from "../../../src/store/schema.ts";
import { accountTableNames, ofService } from "../../../src/store/upkeep/account-rows.ts";
import { leftOut, portable } from "../../../src/store/upkeep/portable.ts";

test("every table of the schema moves with the service once, or is left out with a reason", () => {
  const tables = Object.values(schema).filter((value) => is(value, PgTable));
  const named = [...portable, ...leftOut].map(({ table }) => nameOf(table));
  expect(named.toSorted()).toEqual(tables.map(nameOf).toSorted());
  for (const { why } of leftOut) expect(why).not.toBe("");
});

test("every table of an export moves with an account, or belongs to the service for a reason", () => {
  const named = [...accountTableNames, ...ofService.map(({ table }) => nameOf(table))];
  expect(named.toSorted()).toEqual(portable.map(({ table }) => nameOf(table)).toSorted());
  for (const { why } of ofService) expect(why).not.toBe("");
});

function nameOf(table: PgTable): string {
  return getTableConfig(table).name;
}
