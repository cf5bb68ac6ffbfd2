import pino from "pino";
import { readConfig } from "../config.ts";
import { openDatabase } from "../database/db.ts";
import { askHolder, DataDirectoryInUse } from "../database/directory-lock.ts";
import { Refusal } from "../domain/errors.ts";
import { idMaker } from "../domain/ids.ts";
import { type AdminRequest, administer } from "../flows/account/administer.ts";
import { realWorld } from "../service.ts";
import { migrate } from "../store/migrate.ts";

/**
 * Does it here, on the same database as the server. The embedded database belongs to one process: while a server
 * holds it, that server is asked instead.
 */
export async function admin(request: AdminRequest): Promise<object> {
  try {
    return await here(request);
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    return askServer(request, error);
  }
}

async function here(request: AdminRequest): Promise<object> {
  const config = readConfig(process.env);
  const db = await openDatabase({ url: config.databaseUrl, dataDir: config.dataDir });
  try {
    await migrate(db);
    const deps = {
      ...realWorld,
      db,
      newId: idMaker(realWorld.randomBytes),
      log: pino({ level: "silent" }),
      mailDomain: config.mailDomain,
      limits: config.limits,
      allowPrivateWebhooks: config.allowPrivateWebhooks,
      nudge: () => undefined,
    };
    return await administer(deps, request);
  } finally {
    await db.close();
  }
}

async function askServer(request: AdminRequest, inUse: DataDirectoryInUse): Promise<object> {
  const { dataDir } = readConfig(process.env);
  const response = await askHolder(dataDir, "/admin", { method: "POST", body: JSON.stringify(request) }).catch(() => {
    throw inUse;
  });
  const answer = (await response.json()) as { result: object } | { refused: string };
  if ("refused" in answer) throw new Refusal("forbidden", answer.refused);
  return answer.result;
}
