import { expect, test } from "bun:test";
import { type Paced, paced } from "../../src/primitives/paced.ts";
import { until } from "../support/until.ts";

test("an act that is requested often runs at once, and once more at the end of the pause", async () => {
  let done = 0;
  const work = paced(20, () => {
    done += 1;
  });
  work.ask();
  expect(done).toBe(1);
  for (let asked = 0; asked < 10; asked += 1) work.ask();
  expect(done).toBe(1);
  await until(() => done > 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(done).toBe(2);
  work.ask();
  expect(done).toBe(3);
  work.stop();
});

test("a request during the act runs it again after the pause", async () => {
  let done = 0;
  const work: Paced = paced(1, () => {
    done += 1;
    if (done < 3) work.ask();
  });
  work.ask();
  expect(done).toBe(1);
  await until(() => done === 3);
});

test("nothing runs after it is stopped", async () => {
  let done = 0;
  const work = paced(1, () => {
    done += 1;
  });
  work.ask();
  work.ask();
  work.stop();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(done).toBe(1);
});
