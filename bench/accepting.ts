/**
 * A part of the service as a process, for bench/sending.ts: its API for inboxes and sends on the database of DATABASE_URL,
 * without limits and workers, so that the cost of accepting is measured alone.
 */

import pino from "pino";
import { openDatabase } from "../src/database/db.ts";
import { idMaker } from "../src/domain/ids.ts";
import { perPlan } from "../src/domain/limits.ts";
import { authenticator } from "../src/flows/account/authenticate.ts";
import { seedFirstAccount } from "../src/flows/account/manage-accounts.ts";
import { accountRules } from "../src/flows/account-rules.ts";
import { localChanges } from "../src/flows/changes.ts";
import { emailSender } from "../src/flows/send/send-email.ts";
import { inboxes } from "../src/http/routes/account/inboxes.ts";
import { send } from "../src/http/routes/send/send.ts";
import { httpApp } from "../src/http/shell/app.ts";
import { serveHttp } from "../src/http/shell/server.ts";
import { realWorld } from "../src/service/time-and-chance.ts";
import { migrate } from "../src/store/migrate.ts";
import { noLimits } from "../tests/support/limits.ts";
import { localServer } from "../tests/support/local-server.ts";
import { plainSealing } from "../tests/support/plain-sealing.ts";
import { benchKey } from "./support/service.ts";

const log = pino({ level: "warn" });
const db = await openDatabase({ url: process.env.DATABASE_URL, dataDir: process.env.DATA_DIR ?? "./data" });
await migrate(db);
const deps = {
  ...realWorld,
  db,
  log,
  newId: idMaker(realWorld.randomBytes),
  sealing: plainSealing,
  mailDomain: "inbox.localhost",
  recipientsMax: 50,
  isDirect: false,
  cell: "00",
  cellPeers: [],
  limits: perPlan(() => noLimits),
  searchWords: perPlan(() => "all" as const),
  nudge: () => undefined,
  changes: localChanges(),
};
await seedFirstAccount(deps, { apiKey: benchKey, webhookUrl: undefined, webhookSecret: undefined, plan: "developer" });
const keys = authenticator(deps);
keys.setHearing(true);
const app = httpApp(
  {
    authenticate: keys.authenticate,
    health: async () => ({ ready: true }),
    isDraining: () => false,
    serviceId: "service-of-bench",
    cell: "00",
    newRequestId: () => realWorld.randomBytes(12).toHex(),
    log,
    version: "0.0.0",
    thisServer: localServer,
  },
  {
    guarded: [
      inboxes({ ...deps, hosts: { find: async () => undefined } }),
      send({
        ...deps,
        uploads: { sendMaxBytes: 26_214_400, uploadsMaxBytes: 2 ** 30, uploadTtlMs: 86_400_000 },
        sendEmail: emailSender({ ...deps, rules: accountRules(deps) }, async () => undefined),
        settled: async () => undefined,
        sendWaitMs: 0,
      }),
    ],
  },
);
// Exits by itself, since a profiler otherwise writes nothing.
process.on("SIGTERM", () => process.exit(0));
const { url } = serveHttp(app, { hostname: "127.0.0.1", port: 0 }, log);
process.stdout.write(`${url?.port}\n`);
