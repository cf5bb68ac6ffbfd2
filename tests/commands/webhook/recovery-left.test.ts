import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { runInboxd } from "../../support/inboxd.ts";

/** A recovery that can't look at all of the log, by a server that answers what it is given. */
const endpoint = "whk_01jpw7z1x2e9a8r5k3m0t6vqhd";
const tooMany = { status: 429, code: "rate_limit_exceeded", detail: "the limit of 10 recoveries a minute is reached" };
let server: Bun.Server<undefined>;
let answers: object[];

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => {
      const next = answers.shift() ?? tooMany;
      return Response.json(next, { status: next === tooMany ? 429 : 202 });
    },
  });
});
afterAll(() => server.stop(true));
beforeEach(() => {
  answers = [];
});

const recover = (...options: string[]) =>
  runInboxd(["webhook", "recover", endpoint, "--after", "start", ...options], {
    env: { INBOXD_URL: server.url.origin, INBOXD_API_KEY: "ibx_any" },
  });

test("a recovery beyond the limit of calls a minute prints the position to continue from", async () => {
  answers = [
    { queued: 3, hasMore: true, last: "evt_1" },
    { queued: 2, hasMore: true, last: "evt_2" },
  ];
  const recovered = await recover();
  expect([recovered.code, recovered.stderr]).toEqual([0, "There is more: --after evt_2\n"]);
  expect(recovered.stdout).toBe("queued  5\nlast    evt_2\n");
});

test("a recovery that the server refuses at once prints the refusal", async () => {
  const recovered = await recover();
  expect(recovered.code).toBe(1);
  expect(recovered.stderr).toContain(tooMany.detail);
});

test("a recovery to an endpoint that has answered nothing yet goes on from the start", async () => {
  answers = [{ queued: 0, hasMore: true, last: null }];
  expect((await recover()).stderr).toBe("There is more: --after start\n");
});
