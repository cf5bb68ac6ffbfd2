import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDoor } from "../../support/http-door.ts";
import { connectRaw } from "../../support/raw-http.ts";

const ask = (path: string, host = "Host: x\r\n", version = "1.1") =>
  `GET ${path} HTTP/${version}\r\n${host}Authorization: Bearer ibx_good\r\n\r\n`;

describe("A request is understood", () => {
  test.each([
    ["with a short name of the host", ask("/v1/boxes/1")],
    ["of HTTP/1.0 without a host, as health checkers send", ask("/v1/boxes/1", "", "1.0")],
    ["with an empty host", ask("/v1/boxes/1", "Host: \r\n")],
    ["with a host that is none", ask("/v1/boxes/1", "Host: a/b?c#d\r\n")],
    ["with a whole address", ask("http://other.example/v1/boxes/1")],
  ])("%s", async (_, request) => {
    await using door = openDoor();
    const connection = await connectRaw(door);
    connection.send(request);
    const answer = await connection.response();
    expect([answer?.status, answer?.body]).toEqual([200, '{"id":"acc_1","size":1}']);
    connection.end();
  });

  test("on a socket of the file system", async () => {
    const directory = await mkdtemp(join(tmpdir(), "inboxd-http-"));
    try {
      await using door = openDoor({}, { unix: join(directory, "control") });
      expect(door.server.url).toBeUndefined();
      const connection = await connectRaw({ unix: join(directory, "control") });
      connection.send(ask("/v1/boxes/1"));
      expect((await connection.response())?.status).toBe(200);
      connection.end();
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

test("A port in use is reported at once", async () => {
  await using door = openDoor();
  expect(() => openDoor({}, { hostname: "127.0.0.1", port: door.port })).toThrow(/in use/);
});

describe("A stop", () => {
  test("waits for requests in progress, and accepts no others", async () => {
    const door = openDoor();
    const [busy, idle] = [await connectRaw(door), await connectRaw(door)];
    idle.send(ask("/healthz"));
    await idle.response();
    busy.send(ask("/v1/boxes/1/slow"));
    await door.slowArrived;

    let stopped = false;
    const stop = door.server.stop(60_000).then(() => {
      stopped = true;
    });
    await idle.closed;
    expect(connectRaw(door)).rejects.toThrow();
    expect(stopped).toBe(false);

    door.letSlowEnd();
    expect((await busy.response())?.status).toBe(200);
    await stop;
  });

  test("ends requests that exceed the grace period", async () => {
    const door = openDoor();
    const busy = await connectRaw(door);
    busy.send(ask("/v1/boxes/1/slow"));
    await door.slowArrived;
    await door.server.stop(10);
    await busy.closed;
    expect(await busy.response()).toBeUndefined();
  });

  test("is announced to clients on open connections", async () => {
    await using door = openDoor();
    const connection = await connectRaw(door);
    connection.send(ask("/v1/boxes/1"));
    expect((await connection.response())?.status).toBe(200);
    door.drain();
    connection.send(ask("/v1/boxes/1"));
    const answer = await connection.response();
    expect([answer?.status, answer?.headers.get("retry-after"), answer?.headers.get("connection")]).toEqual([
      503,
      "1",
      "close",
    ]);
    await connection.closed;
  });
});
