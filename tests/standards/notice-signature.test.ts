import { describe, expect, test } from "bun:test";
import {
  isBasic,
  isMailgunSignature,
  isP256PublicKey,
  isSendgridSignature,
} from "../../src/standards/notice-signature.ts";

describe("the signature that SendGrid's own libraries are tested with", () => {
  const publicKey =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
  const signature = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=";
  const timestamp = "1600112502";
  const event = {
    email: "hello@world.com",
    event: "dropped",
    reason: "Bounced Address",
    sg_event_id: "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
    sg_message_id: "LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",
    "smtp-id": "<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",
    timestamp: 1600112492,
  };
  const text = `${JSON.stringify([event])}\r\n`;
  const body = new TextEncoder().encode(text);

  test("is right over the timestamp and the bytes of the body", () => {
    expect(isP256PublicKey(publicKey)).toBe(true);
    expect(isSendgridSignature(publicKey, { timestamp, signature, body })).toBe(true);
  });

  test("is wrong with a byte of any of them changed", () => {
    expect(isSendgridSignature(publicKey, { timestamp: "1600112503", signature, body })).toBe(false);
    expect(isSendgridSignature(publicKey, { timestamp, signature, body: body.subarray(0, -2) })).toBe(false);
    expect(isSendgridSignature(publicKey, { timestamp, signature: signature.replace("GHQ", "GHR"), body })).toBe(false);
    for (const nothing of ["", "===", "AAAAAAAA"]) {
      expect(isSendgridSignature(publicKey, { timestamp, signature: nothing, body })).toBe(false);
      expect(isSendgridSignature(nothing, { timestamp, signature, body })).toBe(false);
    }
  });
});

describe("the signature of Mailgun", () => {
  const signed = { timestamp: "1529006854", token: "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0" };
  const key = "key-of-mailgun-in-tests-1234";
  /** A signature by another implementation, over the timestamp and the token. */
  async function hmac(text: string): Promise<string> {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const imported = await crypto.subtle.importKey("raw", Buffer.from(key), algorithm, false, ["sign"]);
    return Buffer.from(await crypto.subtle.sign("HMAC", imported, Buffer.from(text))).toString("hex");
  }

  test("is right over timestamp and token, and wrong over anything else", async () => {
    const signature = await hmac(signed.timestamp + signed.token);
    expect(isMailgunSignature(key, { ...signed, signature })).toBe(true);
    expect(isMailgunSignature(`${key}x`, { ...signed, signature })).toBe(false);
    expect(isMailgunSignature(key, { ...signed, timestamp: "1529006855", signature })).toBe(false);
    expect(isMailgunSignature(key, { ...signed, signature: "" })).toBe(false);
    // The end of one field must not count as the beginning of the other.
    const moved = { timestamp: `${signed.timestamp}8`, token: `x${signed.token.slice(2)}` };
    expect(isMailgunSignature(key, { ...moved, signature })).toBe(false);
  });
});

test("a password may have any characters", () => {
  const password = "pass:word with ümlaut";
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  expect(isBasic(basic(`user:${password}`), "user", password)).toBe(true);
  expect(isBasic(basic(`user:${password}`).replace("Basic", "bASIC"), "user", password)).toBe(true);
  for (const other of ["", "Basic", basic(""), basic("user"), basic(`user:${password}x`), `Bearer ${password}`]) {
    expect(isBasic(other, "user", password)).toBe(false);
  }
});
