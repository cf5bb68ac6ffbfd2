import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { findCluster } from "../database/embedded-cluster.ts";

/**
 * Throws for a directory without a database, which would be created by opening it. Only for commands that need existing data.
 * Opening finds other faults itself: a Postgres that is away, and an embedded database that is lost.
 */
export function refuseWithoutDatabase(
  command: string,
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
): void {
  if (databaseUrl !== undefined || findCluster(dataDir) !== "none") return;
  throw new Error(
    `Cannot run "${command}": there is no database in ${resolve(dataDir)}; the first start of "inboxd serve" makes one there. If the service has its own elsewhere, set DATA_DIR or DATABASE_URL as for the service`,
  );
}
