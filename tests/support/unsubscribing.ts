import { generateKeyPairSync } from "node:crypto";
import { signingKey } from "./reported.ts";

export const privateKeyPem = String(
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }),
);
export const signed = { DKIM_SELECTOR: "s1", DKIM_KEY: privateKeyPem };
export const usual = {
  SIGNING_KEY: signingKey,
  BASE_URL: "https://mail.example",
  METRICS_PORT: "0",
  SENDS_PER_MINUTE: "0",
  SENDS_PER_DAY: "0",
  COLD_RECIPIENT_DAILY: "0",
  SEND_WAIT_MS: "30000",
};

/** The names by which the recipient of a mail unsubscribes, from its header fields. */
export function namesIn(raw: Buffer): { token: string; address: string } {
  const field = /^List-Unsubscribe:((?:.*\r\n)(?:[ \t].*\r\n)*)/m.exec(raw.toString())?.[1]?.replace(/\s+/g, " ") ?? "";
  const [, token = "", address = ""] = /<https:\/\/mail\.example\/u\/(\w+)>, <mailto:([^>]+)>/.exec(field) ?? [];
  return { token, address };
}
