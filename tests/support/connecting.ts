import { expect } from "bun:test";
import { sha256Hex } from "../../src/standards/digest.ts";
import type { World } from "./world.ts";

/** A program that asks for access, with a person at a browser that is signed in. */
export const redirectUri = "http://127.0.0.1:7777/callback";
export const verifier = "v".repeat(43);
const challengeOf = (secret: string) => Buffer.from(sha256Hex(secret), "hex").toString("base64url");

export interface Connecting {
  /** The question of a registered program, as its link asks it. `undefined` leaves a parameter out. */
  question(changed?: Record<string, string | undefined>): string;
  /** The page of a question, as the signed-in browser gets it. */
  asked(
    question: string,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string; headers: Headers }>;
  /** Answers the form of a question. */
  answer(
    question: string,
    fields?: Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<{ status: number; text: string; location: URL | undefined }>;
  /** The code that the program gets for the answer "allow". */
  code(fields?: Record<string, string>): Promise<string>;
  token(fields: Record<string, string>): Promise<{ status: number; body: Record<string, string>; headers: Headers }>;
  /** Exchanges a code. */
  redeem(code: string, changed?: Record<string, string>): ReturnType<Connecting["token"]>;
  refresh(refreshToken: string, changed?: Record<string, string>): ReturnType<Connecting["token"]>;
  clientId: string;
  cookie: string;
}

export async function connecting(world: World, key = world.apiKey): Promise<Connecting> {
  const { origin } = world.service.apiUrl;
  const ofOurPage = { "sec-fetch-site": "same-origin", origin };
  const signedIn = await world.fetch("/console/session", {
    method: "POST",
    body: { key },
    apiKey: null,
    headers: ofOurPage,
  });
  expect(signedIn.status).toBe(204);
  const [cookie = ""] = (signedIn.headers.get("set-cookie") ?? "").split(";", 1);
  const { body: client } = await register(world);

  const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(new URL(path, origin), {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: String(new URLSearchParams(fields)),
    });
  const question: Connecting["question"] = (changed = {}) => {
    const all = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: redirectUri,
      code_challenge: challengeOf(verifier),
      code_challenge_method: "S256",
      resource: `${origin}/mcp/connect`,
      state: "s1",
      ...changed,
    };
    const given = Object.entries(all).filter((each): each is [string, string] => each[1] !== undefined);
    return `/oauth/authorize?${new URLSearchParams(given)}`;
  };
  const asked: Connecting["asked"] = async (path, headers = { "sec-fetch-site": "same-origin" }) => {
    const answer = await fetch(new URL(path, origin), { redirect: "manual", headers: { cookie, ...headers } });
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  };
  const answer: Connecting["answer"] = async (path, fields = {}, headers = ofOurPage) => {
    const { text: page } = await asked(path);
    const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
      ([, name = "", value = ""]) => [name, value.replaceAll("&amp;", "&")] as const,
    );
    const all = { ...Object.fromEntries(hidden), access: "agent", reach: "account", decision: "allow", ...fields };
    const answered = await form("/oauth/authorize", all, { cookie, ...headers });
    const location = answered.headers.get("location");
    return {
      status: answered.status,
      text: await answered.text(),
      location: location === null ? undefined : new URL(location),
    };
  };
  const token: Connecting["token"] = async (fields) => {
    const answered = await form("/oauth/token", fields);
    return {
      status: answered.status,
      body: (await answered.json()) as Record<string, string>,
      headers: answered.headers,
    };
  };
  return {
    question,
    asked,
    answer,
    token,
    clientId: client.client_id,
    cookie,
    async code(fields) {
      const { location } = await answer(question(), fields);
      return location?.searchParams.get("code") ?? "";
    },
    redeem: (code, changed = {}) =>
      token({
        grant_type: "authorization_code",
        code,
        client_id: client.client_id,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...changed,
      }),
    refresh: (refreshToken, changed = {}) =>
      token({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: client.client_id, ...changed }),
  };
}

/** The id of a grant with the whole account, or with one tenant, as a person gives it to a program. */
export async function newGrant(world: World, externalId?: string): Promise<string> {
  const by = await connecting(world);
  const { status } = await by.redeem(await by.code(externalId === undefined ? {} : { reach: "tenant", externalId }));
  expect(status).toBe(200);
  return (await world.api("/v1/grants?limit=1")).body.data[0].id;
}

export function register(world: World, metadata: object = {}) {
  const body = { client_name: "Test program", redirect_uris: [redirectUri], ...metadata };
  return world.api("/oauth/register", { method: "POST", apiKey: null, body });
}
