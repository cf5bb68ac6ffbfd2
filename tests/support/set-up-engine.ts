import { afterAll, beforeAll } from "bun:test";
import { migrate } from "../../src/store/migrate.ts";
import { type EngineName, type EngineUnderTest, openEngine } from "./engines.ts";

/** Opens an engine with the schema before the tests of a `describe`, and removes it afterwards. */
export function setUpEngine(name: EngineName): EngineUnderTest {
  const under = {} as EngineUnderTest;
  beforeAll(async () => {
    Object.assign(under, await openEngine(name));
    await migrate(under.db);
  }, 60_000);
  afterAll(() => under.remove?.());
  return under;
}
