/** Broken on purpose: answers 250 before the mail is in the database. */
import { returnPaths } from "../../../src/domain/reports/return-path.ts";
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
    returnPaths: returnPaths(await returnPathKey("k".repeat(32)), config.mailDomain),
    applyReports: async (told) => told.map(() => "gone"),
  });
  const door = mailDoor({
    ...deps,
    parse,
    reports,
    receive: mailReceiver(deps),
    hosts: ownHosts(deps, false),
    operatorInbox: undefined,
  });
  const impatient: typeof door = {
    ...door,
    async accept(mail) {
      void Bun.sleep(300)
        .then(() => door.accept(mail))
        .catch(() => undefined);
      return "stored";
    },
  };
  return listenBroken(impatient, deps, config);
});
