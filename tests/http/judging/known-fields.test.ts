import { afterAll, describe, expect, test } from "bun:test";
import { openDoor } from "../../support/http-door.ts";

const door = openDoor();
afterAll(() => door.server.stop(0));

const json = { "content-type": "application/json" };

async function faultsOf(method: string, path: string, body?: string) {
  const answer = await door.ask(method, path, { headers: json, ...(body !== undefined && { body }) });
  const { code, detail, errors } = await answer.json();
  return { status: answer.status, code, detail, errors };
}

const create = (body: string) => faultsOf("POST", "/v1/boxes", body);

describe("A field that nobody knows is refused", () => {
  test("with the name that was meant, where one is near", async () => {
    expect(await create('{"size":1,"FRAGILE":true}')).toEqual({
      status: 400,
      code: "validation_error",
      detail: 'Cannot create box: "FRAGILE" is not known here; did you mean "fragile"?',
      errors: [{ pointer: "#/FRAGILE", detail: 'is not known here; did you mean "fragile"?' }],
    });
  });

  test("before what is missing for it, and together with all else that is wrong", async () => {
    expect(await create('{"sise":1,"kind":"round","colour":"blue"}')).toEqual({
      status: 400,
      code: "validation_error",
      detail: 'Cannot create box: "sise" is not known here; did you mean "size"? (and 3 more faults)',
      errors: [
        { pointer: "#/sise", detail: 'is not known here; did you mean "size"?' },
        { pointer: "#/colour", detail: "is not known here" },
        { pointer: "#/size", detail: "is required" },
        { pointer: "#/kind", detail: 'must be one of "flat", "tall"' },
      ],
    });
  });

  test("within a field, by its place", async () => {
    const { errors } = await create('{"size":1,"lids":[{"is_open":true},{"isopen":true}]}');
    expect(errors).toEqual([{ pointer: "#/lids/1/isopen", detail: 'is not known here; did you mean "is_open"?' }]);
  });

  test.each([
    ["__proto__", '{"size":1,"__proto__":{"name":7}}', "#/__proto__"],
    ["constructor", '{"size":1,"constructor":null}', "#/constructor"],
    ["no letters", '{"size":1,"":1}', "#/"],
    ["what a pointer and an address have signs for", '{"size":1,"a/b~c %":1}', "#/a~1b~0c%20%25"],
    ["half a surrogate pair", '{"size":1,"a\\ud800":1}', "#/a%EF%BF%BD"],
    ["controls and marks of direction", '{"size":1,"a\\u0000\\u001b\\n\\u202eb":1}', `#/a${"%EF%BF%BD".repeat(4)}b`],
    ["more than 64 characters", `{"size":1,"${"😀".repeat(65)}":1}`, `#/${encodeURIComponent(`${"😀".repeat(64)}…`)}`],
  ])("though its name is %s", async (_, body, pointer) => {
    const { status, errors } = await create(body);
    expect([status, errors]).toEqual([400, [{ pointer, detail: "is not known here" }]]);
  });

  test("where none is known at all", async () => {
    expect((await faultsOf("POST", "/v1/boxes/empty", '{"Name":"a"}')).errors).toEqual([
      { pointer: "#/Name", detail: 'is not known here; did you mean "name"?' },
    ]);
  });

  test("with the first fifty of its kind, so that there is room for other faults", async () => {
    const names = Array.from({ length: 150_000 }, (_, index) => `"x${index}":1`);
    const { status, errors } = await create(`{${names.join()},"kind":"round"}`);
    const pointers = errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(status).toBe(400);
    expect(pointers).toEqual([...Array.from({ length: 50 }, (_, index) => `#/x${index}`), "#/size", "#/kind"]);
  });
});

describe("A name of two spellings", () => {
  test("is taken in one of them at a time", async () => {
    const { errors } = await create('{"size":1,"lids":[{"is_open":true,"isOpen":true}]}');
    expect(errors).toEqual([{ pointer: "#/lids/0/is_open", detail: "must be given once, as is_open or as isOpen" }]);
    expect((await faultsOf("GET", "/v1/boxes?fragile=true&is_fragile=true")).errors).toEqual([
      { parameter: "fragile", detail: "must be given once, as fragile or as is_fragile" },
    ]);
  });

  test("is told in the caller's own, where something is wrong with it", async () => {
    const { errors } = await create('{"size":1,"lids":[{"is_open":1},{"isOpen":1}]}');
    expect(errors).toEqual([
      { pointer: "#/lids/0/is_open", detail: "must be true or false" },
      { pointer: "#/lids/1/isOpen", detail: "must be true or false" },
    ]);
    expect((await faultsOf("GET", "/v1/boxes?is_fragile=1&is_fragile=2")).errors).toEqual([
      { parameter: "is_fragile", detail: "must be given once" },
      { parameter: "is_fragile", detail: "must be true or false" },
    ]);
  });
});

describe("A parameter that nobody knows is refused", () => {
  test.each([
    ["GET", "/v1/boxes?limt=5", "limt", 'is not known here; did you mean "limit"?'],
    ["GET", "/v1/boxes?__proto__=5", "__proto__", "is not known here"],
    ["GET", "/v1/boxes?%ff%00=%zz", "\ufffd\ufffd", "is not known here"],
    ["GET", "/v1/boxes/1?limit=5", "limit", "is not known here"],
    ["HEAD", "/v1/boxes/1?limit=5", "limit", "is not known here"],
    ["POST", "/v1/boxes?limit=5", "limit", "is not known here"],
    ["DELETE", "/v1/boxes/1?force=1", "force", "is not known here"],
  ])("%s %s", async (method, path, parameter, detail) => {
    const answer = await door.ask(method, path, method === "POST" ? { headers: json, body: '{"size":1}' } : {});
    expect(answer.status).toBe(400);
    if (method === "HEAD") return;
    const { code, errors } = await answer.json();
    expect([code, errors]).toEqual(["invalid_query", [{ parameter, detail }]]);
  });

  test("once, however often it is given", async () => {
    const { errors } = await faultsOf("GET", "/v1/boxes?a=1&a=2&limit=1&limit=2");
    expect(errors).toEqual([
      { parameter: "a", detail: "is not known here" },
      { parameter: "limit", detail: "must be given once" },
    ]);
  });

  test("behind the key and the resource", async () => {
    expect((await door.ask("GET", "/v1/boxes/1?x=1", { headers: { authorization: "" } })).status).toBe(401);
    expect((await door.ask("GET", "/v1/boxes/2?x=1")).status).toBe(404);
  });
});
