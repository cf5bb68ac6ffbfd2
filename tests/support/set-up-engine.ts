import { afterAll, beforeAll } from "bun:test";
import { type EngineName, type EngineUnderTest, openMigrated } from "./engines.ts";

/** Opens an engine with the schema before the tests of a `describe`, and removes it afterwards. */
export function setUpEngine(name: EngineName): EngineUnderTest {
  const under = {} as EngineUnderTest;
  beforeAll(async () => {
    Object.assign(under, await openMigrated(name));
  }, 60_000);
  afterAll(() => under.remove?.());
  return under;
}
