import { expect, test } from "bun:test";
import { type SendPolicy, type SendRule, sendRuleOf } from "../../src/domain/policy.ts";

type Row = [policies: SendPolicy[], isClosed: boolean, refusesUnknown: boolean, asks: SendRule["asks"]];

test.each<Row>([
  [[], false, false, "never"],
  [["open", "open"], false, false, "never"],
  [["open", "known"], false, true, "never"],
  [["approve_new", "open"], false, false, "if unknown"],
  [["approve_all", "approve_new"], false, false, "always"],
  // Unknown recipients are refused, and a person is asked about all others.
  [["known", "approve_new"], false, true, "always"],
  [["approve_all", "known"], false, true, "always"],
  [["closed", "approve_new"], true, false, "never"],
  [["known", "closed"], true, true, "never"],
])("the policies %j together", (policies, isClosed, refusesUnknown, asks) => {
  expect(sendRuleOf(policies)).toEqual({ isClosed, refusesUnknown, asks });
});
