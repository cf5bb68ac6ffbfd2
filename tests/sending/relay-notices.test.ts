import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Named, resendBounce } from "../support/relay-notices/examples.ts";
import { namingRelay, noticeDoor, noticedWorld, sentBy } from "../support/relay-notices/noticed-world.ts";
import {
  type Provider,
  type Signed,
  signedByResend,
  signedByToken,
  signedExamples,
} from "../support/relay-notices/signing.ts";
import type { ScriptedSmtp } from "../support/scripted-smtp.ts";
import type { World, WorldInbox } from "../support/world.ts";

let relay: ScriptedSmtp;
beforeAll(async () => {
  relay = await namingRelay();
});
afterAll(() => relay.close());

const worldOf = (provider: Provider | undefined) => noticedWorld(relay, provider);
const sent = (world: World, inbox: WorldInbox) => sentBy(relay, world, inbox);

const bounces = async (world: World) =>
  (await world.api("/v1/events?types=message.bounced")).body.data.map(
    ({ payload }: { payload: { message: { id: string } } }) => payload?.message?.id,
  );
const deliveryOf = async (world: World, { messageId }: Named) =>
  (await world.api(`/v1/messages/${messageId}`)).body.delivery;

describe("notices of each relay, with its signature", () => {
  const all: Provider[] = ["ses", "mailgun", "sendgrid", "resend", "postmark", "generic"];
  test.each(all)(
    "%s: changes a message once if repeated, and never with a changed byte",
    async (provider) => {
      await using world = await worldOf(provider);
      const post = await noticeDoor(world, provider);
      const named = await sent(world, await world.inbox());
      const signed = signedExamples[provider](named);

      const forged = await post(changed(provider, signed));
      expect([forged.status, forged.body.code]).toEqual([401, "unauthorized"]);
      expect(await deliveryOf(world, named)).toBeNull();

      const answers = await Promise.all(Array.from({ length: 5 }, () => post(signed)));
      const others = provider === "sendgrid" ? 2 : 0;
      expect(answers.map(({ status, body }) => ({ status, body }))).toEqual(
        answers.map(() => ({ status: 200, body: { accepted: 1, ignored: others } })),
      );
      expect(await deliveryOf(world, named)).toMatchObject({
        state: "bounced",
        type: "hard",
        source: "relay",
        proof: "relay",
      });
      expect(await bounces(world)).toHaveLength(1);
      const { body } = await world.api(`/v1/messages/${named.messageId}/reports`);
      expect(body.data).toMatchObject([{ kind: "bounced", recipient: "jane@example.com", suppressed: true }]);
    },
    60_000,
  );
});

/** Changes one byte of the signed content or of the password. */
function changed(provider: Provider, { headers, body }: Signed): Signed {
  if (provider === "postmark") return { headers: { ...headers, authorization: `Basic ${btoa("inboxd:wrong")}` }, body };
  if (provider === "generic") return { headers: { ...headers, authorization: `${headers.authorization}x` }, body };
  if (provider === "mailgun") return { headers, body: body.replace(/(?<="timestamp":")1/, "2") };
  return { headers, body: body.replace("jane@example.com", "jbne@example.com") };
}

describe("the endpoint for notices", () => {
  test("does not exist without RELAY_NOTICES", async () => {
    await using world = await worldOf(undefined);
    const { status, body } = await world.api("/v1/relay-notices", { method: "POST", apiKey: null, body: {} });
    expect([status, body.code, body.resource]).toEqual([404, "not_found", "route"]);
  });

  test("accepts JSON of any content type up to 2 MiB, but only application/json for generic", async () => {
    await using world = await worldOf("generic");
    const post = await noticeDoor(world, "generic");
    const named = await sent(world, await world.inbox());
    const { headers, body } = signedExamples.generic(named);
    const auth = { authorization: headers.authorization ?? "", "content-type": "text/plain" };
    expect((await post({ headers: auth, body: "{" })).body.code).toBe("invalid_json");
    expect((await post({ headers: auth, body: `${" ".repeat(2_090_000)}{}` })).body.code).toBe("validation_error");
    expect((await post({ headers: auth, body: `${" ".repeat(2_100_000)}{}` })).status).toBe(413);
    expect((await post(signedByToken({ kind: "bounced", more: 1, return_path: "a@b" }))).body.code).toBe(
      "validation_error",
    );
    expect((await post(signedByToken({ kind: "bounced" }))).body.code).toBe("validation_error");
    expect((await post(signedByToken(Array(1001).fill(JSON.parse(body))))).body.code).toBe("validation_error");
    expect((await post({ headers: auth, body: `[${body}]` })).body).toEqual({ accepted: 1, ignored: 0 });
  }, 60_000);

  test("skips notices of an unknown kind, and accepts the others of the list", async () => {
    await using world = await worldOf("generic");
    const post = await noticeDoor(world, "generic");
    const named = await sent(world, await world.inbox());
    const known = JSON.parse(signedExamples.generic(named).body);
    const opened = { kind: "opened", message: 7, url: "https://example.com" };
    expect((await post(signedByToken([opened, known, { kind: "clicked" }]))).body).toEqual({ accepted: 1, ignored: 2 });
    expect(await deliveryOf(world, named)).toMatchObject({ state: "bounced" });
    expect((await post(signedByToken(opened))).body).toEqual({ accepted: 0, ignored: 1 });
    const metrics = await (await world.fetch("/metrics", { apiKey: "token-of-metrics-in-tests" })).text();
    expect(metrics).toContain('inboxd_relay_notices_total{outcome="ignored"} 3');
    const wrong = await post(signedByToken([opened, { ...known, code: "550" }]));
    expect([wrong.status, wrong.body.errors]).toMatchObject([400, [{ pointer: "#/1/code" }]]);
    for (const notKind of [{}, { kind: 7 }, { kind: "" }, null]) {
      expect((await post(signedByToken(notKind as object))).status).toBe(400);
    }
  }, 60_000);

  test("refuses all kinds of forged signatures", async () => {
    await using world = await worldOf("mailgun");
    const post = await noticeDoor(world, "mailgun");
    for (const signature of [null, 1, {}, { timestamp: { toString: 1 }, token: [], signature: "" }]) {
      expect((await post({ headers: {}, body: JSON.stringify({ signature }) })).status).toBe(401);
    }
    expect((await post({ headers: {}, body: "null" })).status).toBe(401);
  }, 60_000);

  test("requests a notice again while its message may still be stored, and accepts the known part", async () => {
    await using world = await worldOf("generic");
    const post = await noticeDoor(world, "generic");
    const named = await sent(world, await world.inbox());
    const known = JSON.parse(signedExamples.generic(named).body);
    const unknown = { kind: "delivered", provider_message_id: "nobody-1" };
    const early = await post(signedByToken([known, unknown]));
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await deliveryOf(world, named)).toMatchObject({ state: "bounced" });
    world.clock.pass(5 * 60_000 + 1);
    expect((await post(signedByToken([known, unknown]))).body).toEqual({ accepted: 1, ignored: 1 });
    const old = { ...unknown, provider_message_id: "nobody-2", occurred_at: named.at.toISOString() };
    expect((await post(signedByToken(old))).body).toEqual({ accepted: 0, ignored: 1 });
    const metrics = await (await world.fetch("/metrics", { apiKey: "token-of-metrics-in-tests" })).text();
    expect(metrics).toContain('inboxd_relay_notices_total{outcome="accepted"} 2');
    expect(metrics).toContain('inboxd_relay_notices_total{outcome="early"} 1');
    expect(metrics).toContain('inboxd_relay_notices_total{outcome="unknown"} 2');
  }, 60_000);

  test("affects only the recipient that a notice names", async () => {
    await using world = await worldOf("resend");
    const post = await noticeDoor(world, "resend");
    const named = await sent(world, await world.inbox());
    const ofOther = signedByResend(resendBounce({ ...named, recipient: "mary@example.com" }), "webhook");
    expect((await post(ofOther)).body).toEqual({ accepted: 0, ignored: 1 });
    expect(await deliveryOf(world, named)).toBeNull();
  }, 60_000);

  test("never matches a message by an id of another one", async () => {
    await using world = await worldOf("generic");
    const post = await noticeDoor(world, "generic");
    const named = await sent(world, await world.inbox());
    const forged = {
      ...JSON.parse(signedExamples.generic(named).body),
      return_path: named.returnPath.replace(/(.)@/, (_, last) => (last === "z" ? "y@" : "z@")),
    };
    expect((await post(signedByToken(forged))).status).toBe(503);
    for (const name of [
      { rfc_message_id: `<${named.rfcMessageId}>` },
      { provider_message_id: named.providerMessageId },
    ]) {
      const told = { kind: "delivered", ...name };
      expect((await post(signedByToken(told))).body).toEqual({ accepted: 1, ignored: 0 });
    }
  }, 60_000);

  test("suppresses an address that unsubscribed for that inbox only", async () => {
    await using world = await worldOf("generic");
    const post = await noticeDoor(world, "generic");
    const named = await sent(world, await world.inbox());
    const { returnPath: return_path, recipient } = named;
    expect((await post(signedByToken({ kind: "unsubscribed", return_path, recipient }))).body.accepted).toBe(1);
    const { body } = await world.api("/v1/events?types=suppression.added");
    expect(body.data).toHaveLength(1);
    expect(await deliveryOf(world, named)).toBeNull();
  }, 60_000);
});
