import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { findCluster } from "../database/embedded-cluster.ts";

/**
 * Throws if the settings name no Postgres and the data directory has no database, because opening it would create one. Only for commands
 * that need existing data. Other faults are reported when the database is opened: an unreachable Postgres, or a lost embedded database.
 */
export function refuseWithoutDatabase(
  command: string,
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
): void {
  if (databaseUrl !== undefined || findCluster(dataDir) !== "none") return;
  throw new Error(
    `Cannot run "${command}": there is no database in ${resolve(dataDir)}; the first start of "inboxd serve" creates one. If the service uses another database, set DATA_DIR or DATABASE_URL as for the service`,
  );
}
