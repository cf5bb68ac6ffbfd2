import type { BenchDatabase } from "./database.ts";
import { type LoadResult, load } from "./load.ts";
import { cpuMs } from "./process-usage.ts";
import { type SendingServer, sendsTo } from "./sends.ts";

/** CPU time of each request, of the server and of Postgres. */
export interface Measured extends LoadResult {
  cpuMicros: number;
  postgresMicros: number;
}

/** Sends from all these inboxes in turn; none may be refused. */
export async function measured(
  { pid }: BenchDatabase,
  server: SendingServer,
  { inboxIds, connections, seconds }: { inboxIds: readonly string[]; connections: number; seconds: number },
): Promise<Measured> {
  const postgresCpuMs = () => (pid === undefined ? 0 : cpuMs(pid));
  const before = [cpuMs(server.pid), postgresCpuMs()] as const;
  const result = await load({ ...sendsTo(server, inboxIds), connections, seconds });
  if (result.statuses["200"] !== result.requests) throw new Error(`not all 200: ${JSON.stringify(result.statuses)}`);
  const perRequest = (ms: number) => (ms * 1000) / result.requests;
  return {
    ...result,
    cpuMicros: perRequest(cpuMs(server.pid) - before[0]),
    postgresMicros: perRequest(postgresCpuMs() - before[1]),
  };
}
