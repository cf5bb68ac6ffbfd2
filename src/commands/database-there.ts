import { resolve } from "node:path";
import type { Config } from "../config.ts";
import { findCluster } from "../database/embedded-cluster.ts";

/**
 * For commands that read, or change what is there: in a directory without a database they say so, where opening one would
 * make it. A Postgres is there or says itself that it is not; a database that was lost is told by who opens it.
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
