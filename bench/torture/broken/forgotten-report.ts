/** Broken on purpose: answers 250 to mail at a return path and drops it. */
import { returnPaths } from "../../../src/domain/reports/return-path.ts";
import { signingKeyOf } from "../../../src/flows/account/signing-key.ts";
import { ownHosts } from "../../../src/flows/own-hosts.ts";
import { mailDoor } from "../../../src/flows/receive/accept-mail.ts";
import { mailReceiver } from "../../../src/flows/receive/receive-email.ts";
import { reportReception } from "../../../src/flows/receive/receive-report.ts";
import { mailParser } from "../../../src/mail/read/parse.ts";
import { returnPathKey } from "../../../src/standards/signature.ts";
import { asItIs, listenBroken, serveBroken } from "./support.ts";

await serveBroken(asItIs, async ({ deps }, config) => {
  const { parseQueued: parse } = mailParser({ mailDomain: config.mailDomain, onFault: () => undefined });
  const reports = reportReception({
    ...deps,
    returnPaths: returnPaths(await returnPathKey(await signingKeyOf(deps, config.signingKey)), config.mailDomain),
    applyReports: async (told) => told.map(() => "applied"),
  });
  const door = mailDoor({
    ...deps,
    parse,
    reports,
    receive: mailReceiver(deps),
    hosts: ownHosts(deps, false),
    operatorInbox: undefined,
  });
  return listenBroken(door, deps, config);
});
