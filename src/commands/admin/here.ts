import pino from "pino";
import { type Config, readConfig } from "../../config.ts";
import { type AdminRequest, administer } from "../../control/administer.ts";
import { askService, NobodyListens } from "../../control/client.ts";
import { DataDirectoryInUse, openDatabase } from "../../database/db.ts";
import { idMaker } from "../../domain/ids.ts";
import { type EnvelopeFrom, envelopeSenders, returnPaths } from "../../domain/reports/return-path.ts";
import { accessTokens } from "../../flows/account/access-tokens.ts";
import { sealingOf } from "../../flows/account/sealed-secrets.ts";
import { signingKeyOf } from "../../flows/account/signing-key.ts";
import { localChanges } from "../../flows/changes.ts";
import type { Deps } from "../../flows/deps.ts";
import { openDomains } from "../../service/domains.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { returnPathKey } from "../../standards/signature.ts";
import { migrate } from "../../store/migrate.ts";
import { version } from "../../version.ts";
import { webhookClient } from "../../webhook/client.ts";
import { refuseWithoutDatabase } from "../database-there.ts";

/**
 * Runs the request in this process. Only one process can open the embedded database: if a server has opened it, the server runs the
 * request.
 */
export async function adminHere(request: AdminRequest): Promise<object> {
  try {
    return await here(request);
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    return askServer(request, error);
  }
}

async function here(request: AdminRequest): Promise<object> {
  const config = readConfig(process.env);
  // Only the first account can be created without a database.
  if (request.operation !== "account create") refuseWithoutDatabase(request.operation, config);
  const db = await openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    dataDir: config.dataDir,
  });
  const webhooks = webhookClient({
    allowPrivate: config.allowPrivateWebhooks,
    timeoutMs: config.webhookTimeoutMs,
    version,
  });
  const closing = new AbortController();
  try {
    await migrate(db);
    const deps = {
      ...realWorld,
      db,
      newId: idMaker(realWorld.randomBytes),
      sealing: await sealingOf(db.api, config, realWorld.randomBytes),
      log: pino({ level: "silent" }),
      mailDomain: config.mailDomain,
      limits: config.limits,
      searchWords: config.searchWords,
      recipientsMax: config.recipientsMax,
      isDirect: config.outbound.kind === "direct",
      cell: config.cell,
      cellPeers: config.cellPeers,
      allowPrivateWebhooks: config.allowPrivateWebhooks,
      webhooks,
      nudge: () => undefined,
      changes: localChanges(),
    };
    const console = config.console ? await consoleHere(deps, config) : undefined;
    const domains = openDomains({ config, deps, signal: closing.signal });
    return await administer({ ...deps, domains, console, envelopeFrom: envelopeFromHere(deps, config) }, request);
  } finally {
    webhooks.close();
    await db.close();
  }
}

/** Makes the envelope senders that a service with these settings makes. */
function envelopeFromHere(
  deps: Pick<Deps, "db" | "randomBytes">,
  { signingKey, returnPath, mailDomain }: Config,
): EnvelopeFrom {
  return async (messageId, from) => {
    const key = await returnPathKey(await signingKeyOf(deps, signingKey));
    return envelopeSenders(returnPath, returnPaths(key, mailDomain))(messageId, from);
  };
}

/** The facts for a sign-in link to the server with these settings: the key of its tokens, and its address. */
async function consoleHere(deps: Pick<Deps, "db" | "randomBytes">, config: Config) {
  const host = everyAddress.has(config.host) ? "127.0.0.1" : config.host;
  return {
    tokens: await accessTokens(await signingKeyOf(deps, config.signingKey), config.cell),
    baseUrl: () => config.baseUrl ?? `http://${host.includes(":") ? `[${host}]` : host}:${config.port}`,
  };
}

/** The values of HOST that stand for all addresses. A server can listen on them, but a browser cannot open them. */
const everyAddress: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

async function askServer(request: AdminRequest, inUse: DataDirectoryInUse): Promise<object> {
  const { dataDir } = readConfig(process.env);
  try {
    return await askService(dataDir, request);
  } catch (error) {
    // If no service listens at the socket, it is another command that has opened the data directory.
    throw error instanceof NobodyListens ? inUse : error;
  }
}
