import { type NoticeSource, providerOfHost } from "../../domain/reports/notice-source.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** Whether relays that put their own sender on a mail, so that no bounce of it ever comes to us, are listened to. */
export function checkNotices({ host }: { host: string }, relayNotices: NoticeSource | undefined): Finding[] {
  const provider = providerOfHost(host);
  if (provider === undefined) return [];
  const { ok, warn } = findingsOf("relay notices");
  if (relayNotices?.provider === provider) return [ok(`${host} tells of bounces and complaints by its webhook`)];
  if (relayNotices !== undefined) {
    return [
      warn(
        `RELAY_NOTICES is of ${relayNotices.provider}, and mail goes by ${host}`,
        `Set RELAY_NOTICES=${provider}:… unless somebody translates its webhook`,
      ),
    ];
  }
  return [
    warn(
      `${host} tells of bounces and complaints by webhook alone, and RELAY_NOTICES is not set: they stay unknown`,
      `Set RELAY_NOTICES=${provider}:… and give the relay the address /v1/relay-notices`,
    ),
  ];
}
