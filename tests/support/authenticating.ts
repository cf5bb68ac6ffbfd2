import type { Authentication } from "../../src/domain/receive/authentication.ts";
import {
  type AuthenticationOptions,
  type AuthenticationSettings,
  authenticateMail,
} from "../../src/mail/authenticate/authenticate.ts";
import type { Recall, Resolve, ResolvedAnswer } from "../../src/mail/authenticate/questions.ts";
import type { SenderHost } from "../../src/mail/read/received.ts";

export const sendingHost: SenderHost = {
  address: "192.0.2.9",
  heloName: "mail.example.com",
  isTls: true,
  isTrusted: false,
};

export const usualSettings: AuthenticationSettings = {
  timeoutMs: 3000,
  hostname: "mx.inbox.example",
  trustedSealers: [],
  trustedAuthservIds: [],
};

export interface Arrival {
  from?: string;
  client?: Partial<SenderHost>;
  settings?: Partial<AuthenticationSettings>;
  now?: Date;
  options?: Partial<AuthenticationOptions>;
}

/** Authenticates a mail that has come from 192.0.2.9. Its DNS is `zone`, in the notation of `recordsIn`. */
export function authenticated(raw: Uint8Array | string, zone: string, arrival: Arrival = {}): Promise<Authentication> {
  const { from = "bounce@example.com", client, settings, now = new Date("2026-03-03T14:05:06Z"), options } = arrival;
  return authenticateMail(
    { raw: Buffer.from(raw), from, client: { ...sendingHost, ...client } },
    { resolve: recordsIn(zone), settings: { ...usualSettings, ...settings }, now, ...options },
  );
}

/**
 * The DNS of a zone in text: a name, a type and a value on each line. The value `TIMEOUT` has no answer in time; an MX has a priority before
 * its name. All other names do not exist.
 */
export function recordsIn(zone: string): Resolve {
  const lines = zone
    .split("\n")
    .map((line) => /^\s*(\S+)\s+(\S+)\s+(.*?)\s*$/.exec(line))
    .filter((match) => match !== null)
    .map(([, name = "", type = "", value = ""]) => ({ name: name.toLowerCase(), type, value }));
  return async (asked, type) => {
    const ofName = lines.filter(({ name }) => name === asked.toLowerCase());
    if (ofName.some(({ value }) => value === "TIMEOUT")) return { kind: "unknown", reason: "no answer in time" };
    if (ofName.length === 0) return { kind: "no_name" };
    const ofType = ofName.filter((record) => record.type === type);
    if (ofType.length === 0) return { kind: "no_record" };
    return { kind: "found", records: ofType.map(({ value }) => (type === "MX" ? mx(value) : value)) };
  };
}

/** A memory of the answers of a DNS, as the DNS client has one. `forget` ends the time of an answer. */
export function remembering(resolve: Resolve): {
  resolve: Resolve;
  recall: Recall;
  forget: (question: string) => void;
} {
  const kept = new Map<string, ResolvedAnswer>();
  return {
    async resolve(name, type, signal) {
      const answer = kept.get(`${type} ${name}`) ?? (await resolve(name, type, signal));
      kept.set(`${type} ${name}`, answer);
      return answer;
    },
    recall: (name, type) => kept.get(`${type} ${name}`),
    forget: (question) => void kept.delete(question),
  };
}

function mx(value: string) {
  const [priority = "", exchange = ""] = value.split(" ");
  return { priority: Number(priority), exchange };
}
