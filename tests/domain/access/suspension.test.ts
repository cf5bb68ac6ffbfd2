import { expect, test } from "bun:test";
import { type Closure, refuseSuspended, refusesMail } from "../../../src/domain/access/suspension.ts";
import { Refusal } from "../../../src/domain/errors.ts";

const requests = {
  "a send": { sends: true, showsAccount: false },
  "another request": { sends: false, showsAccount: false },
  "GET /v1/account": { sends: false, showsAccount: true },
};

test.each<[Closure | undefined, string, string, string, boolean]>([
  [undefined, "taken", "taken", "taken", false],
  ["sending", "account_suspended sending", "taken", "taken", false],
  ["all", "account_suspended all", "account_suspended all", "taken", true],
  ["moving", "service_unavailable 30", "service_unavailable 30", "taken", true],
])("in an account that is closed for %p", (closure, send, other, account, isMailRefused) => {
  const outcomes = Object.values(requests).map((request) => {
    try {
      refuseSuspended(closure, request, "do this");
      return "taken";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { extra, retryAfterSeconds } = error.details;
      return `${error.reason} ${extra?.scope ?? retryAfterSeconds}`;
    }
  });
  expect([...outcomes, refusesMail(closure)]).toEqual([send, other, account, isMailRefused]);
});
