import { returnPaths } from "../domain/reports/return-path.ts";
import type { ApplyReports } from "../flows/receive/apply-reports.ts";
import { noticeProof } from "../flows/receive/prove-notices.ts";
import { noticeTaker } from "../flows/receive/take-notices.ts";
import type { RelayNoticesDeps } from "../http/routes/send/relay-notices.ts";
import { returnPathKey } from "../standards/signature.ts";
import { version } from "../version.ts";
import { webhookClient } from "../webhook/client.ts";
import type { Opening } from "./opening.ts";

/** What takes the relay's notices, where `RELAY_NOTICES` names the relay. */
export async function openNotices(
  { config, deps, watch, opened }: Opening,
  { signingKey, applyReports }: { signingKey: string; applyReports: ApplyReports },
): Promise<Omit<RelayNoticesDeps, "isDraining">> {
  // Whatever webhooks of customers may do: SNS is never in a network of ours.
  const client = webhookClient({ allowPrivate: false, version, timeoutMs: 10_000 });
  opened.push(client.close);
  const fetchFromSns = async (url: string) => {
    const reply = await client.post({ url, headers: {}, body: undefined, keptBytes: mostOfCertificate });
    return reply.kind === "answered" && reply.status === 200 ? reply.body : undefined;
  };
  const paths = returnPaths(await returnPathKey(signingKey), config.mailDomain);
  const source = config.relayNotices;
  return {
    relay: source && { provider: source.provider, prove: noticeProof(source, { ...deps, fetchFromSns }) },
    takeNotices: noticeTaker({ ...deps, returnPaths: paths, applyReports, observe: watch.notices }),
    observe: watch.notices,
  };
}

const mostOfCertificate = 64 << 10;
