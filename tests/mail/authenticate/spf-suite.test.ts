import { describe, expect, test } from "bun:test";
import { questions } from "../../../src/mail/authenticate/questions.ts";
import { checkSpf } from "../../../src/mail/authenticate/spf.ts";
import { scenarioDns, spfScenarios } from "../../support/spf-suite.ts";

test("the suite is whole", () => {
  expect(spfScenarios.flatMap(({ tests }) => Object.keys(tests))).toHaveLength(203);
});

describe.each(spfScenarios)("$description", ({ tests, zonedata }) => {
  test.each(Object.entries(tests))("%s", async (_name, { host, helo, mailfrom, result }) => {
    const asking = questions({ resolve: scenarioDns(zonedata), signal: new AbortController().signal, most: 28 });
    const found = await checkSpf({ address: host, heloName: helo, from: mailfrom ?? "" }, asking, "receiver.example");
    expect([result].flat()).toContain(found.result);
  });
});
