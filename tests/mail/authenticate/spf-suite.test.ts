import { describe, expect, test } from "bun:test";
import { questions } from "../../../src/mail/authenticate/questions.ts";
import { checkSpf } from "../../../src/mail/authenticate/spf.ts";
import { remembering } from "../../support/authenticating.ts";
import { scenarioDns, spfScenarios } from "../../support/spf-suite.ts";

test("the suite is whole", () => {
  expect(spfScenarios.flatMap(({ tests }) => Object.keys(tests))).toHaveLength(203);
});

describe.each(spfScenarios)("$description", ({ tests, zonedata }) => {
  const resolve = scenarioDns(zonedata);
  // The cases of a scenario share a memory, so that some of them find what others have left there.
  const { forget: _forget, ...dns } = remembering(resolve);

  test.each(Object.entries(tests))("%s", async (_name, { host, helo, mailfrom, result }) => {
    const sender = { address: host, heloName: helo, from: mailfrom ?? "" };
    for (const options of [{ resolve }, dns, dns]) {
      const asking = questions({ ...options, signal: new AbortController().signal, most: 28 });
      expect([result].flat()).toContain((await checkSpf(sender, asking, "receiver.example")).result);
    }
  });
});
