import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { checkObjectStore } from "../../src/commands/doctor/object-store.ts";
import { readConfig } from "../../src/config.ts";
import { away, haveObjectStore, type ObjectStore, passing, startObjectStore } from "../support/object-store.ts";

const now = new Date("2026-03-21T10:05:00.000Z");

test("without an object store it is silent, unless mail is in one", async () => {
  expect(await checkObjectStore({ blobs: undefined, hasSegments: false, now })).toEqual([]);
  expect(await checkObjectStore({ blobs: undefined, hasSegments: true, now })).toMatchObject([
    { level: "fail", seen: expect.stringContaining("BLOBS is not set") },
  ]);
});

describe.if(haveObjectStore())("The object store", () => {
  let store: ObjectStore;
  beforeAll(async () => {
    store = await startObjectStore();
  });
  afterAll(() => store?.[Symbol.asyncDispose]());
  const ask = (env: Record<string, string> = {}) =>
    checkObjectStore({ blobs: readConfig({ ...store.env, ...env }).blobs, hasSegments: true, now });

  test("is well if it takes, gives and deletes an object, of which nothing stays", async () => {
    expect(await ask()).toMatchObject([{ level: "ok", seen: expect.stringContaining("in mail") }]);
    expect(await store.names()).toEqual([]);
  });

  test.each([
    ["PUT", "Cannot write to the object store: it answered 503"],
    ["HEAD", "Cannot read a size from the object store: it answered 503"],
    ["GET", "Cannot read from the object store: it answered 503"],
    ["DELETE", "Cannot remove from the object store: it answered 503"],
  ])("fails if it refuses %s", async (method, seen) => {
    store.treat((request, pass) => (request.method === method ? away(request, pass) : pass()));
    expect(await ask()).toMatchObject([{ level: "fail", seen }]);
    store.treat(passing);
  });

  test("fails with a wrong key or bucket, and names the store's own word", async () => {
    expect(await ask({ BLOBS_ACCESS_KEY: "wrong" })).toMatchObject([
      { level: "fail", seen: expect.stringContaining("InvalidAccessKeyId") },
    ]);
    const BLOBS = store.env.BLOBS?.replace("s3://mail/", "s3://other/") ?? "";
    expect(await ask({ BLOBS })).toMatchObject([{ level: "fail", seen: expect.stringContaining("NoSuchBucket") }]);
  });
});
