import { describe, expect, test } from "bun:test";
import { Inboxd, type InboxdOptions } from "../../sdk/typescript/src/inboxd.ts";

const unset: string | undefined = process.env.NO_SUCH_SETTING;
const [baseUrl, apiKey] = ["http://127.0.0.1:3000", "ibx_1"];

describe("A wrong option throws before any request", () => {
  test.each<[what: string, options: unknown, said: string]>([
    ["no address", { baseUrl: unset, apiKey }, "baseUrl is missing"],
    ["an empty address", { baseUrl: "", apiKey }, "baseUrl is missing"],
    ["no scheme", { baseUrl: "127.0.0.1:3000", apiKey }, 'baseUrl is "127.0.0.1:3000", and must be the address'],
    ["a name as its scheme", { baseUrl: "localhost:3000", apiKey }, "beginning with http:// or https://"],
    ["another scheme", { baseUrl: "ftp://mail.example", apiKey }, "beginning with http:// or https://"],
    ["no host", { baseUrl: "http:///v1", apiKey }, "beginning with http:// or https://"],
    ["no address at all", { baseUrl: "http://a b", apiKey }, "must be the address of the service"],
    ["a path alone, outside of a page", { baseUrl: "/mail", apiKey }, 'baseUrl is "/mail"'],
    ["a name and a password", { baseUrl: "http://me:pw@mail.example", apiKey }, "must have no user name"],
    ["a query", { baseUrl: "http://mail.example/?a=1", apiKey }, "must have no user name, query or fragment"],
    ["no key where one was to be", { baseUrl, apiKey: unset }, "apiKey is missing; give the API key that"],
    ["an empty key", { baseUrl, apiKey: "" }, "apiKey is missing"],
    ["an empty token", { baseUrl, token: "" }, "token is missing"],
    ["a key with a space", { baseUrl, apiKey: "ibx 1" }, "apiKey is not a key"],
    ["a key that no header takes", { baseUrl, apiKey: "ibx_…" }, "apiKey is not a key"],
  ])("%s", (_, options, said) => {
    expect(() => new Inboxd(options as InboxdOptions)).toThrow(TypeError);
    expect(() => new Inboxd(options as InboxdOptions)).toThrow(said);
  });
});

test("A right option is used", async () => {
  const asked: unknown[] = [];
  const fetch: NonNullable<InboxdOptions["fetch"]> = async (url, { headers }) => {
    asked.push([url, new Headers(headers).get("authorization")]);
    return Response.json({});
  };
  const options: InboxdOptions[] = [
    { baseUrl, apiKey: "ibx_1\n" },
    { baseUrl: new URL(baseUrl), token: "ibt_1" },
    { baseUrl: "https://[::1]/mail/" },
    { baseUrl: "" },
    { baseUrl: "/mail" },
  ];
  for (const each of options) await new Inboxd({ ...each, fetch }).inboxes.get("inb_1");
  expect(asked).toEqual([
    ["http://127.0.0.1:3000/v1/inboxes/inb_1", "Bearer ibx_1"],
    ["http://127.0.0.1:3000/v1/inboxes/inb_1", "Bearer ibt_1"],
    ["https://[::1]/mail/v1/inboxes/inb_1", null],
    ["/v1/inboxes/inb_1", null],
    ["/mail/v1/inboxes/inb_1", null],
  ]);
});
