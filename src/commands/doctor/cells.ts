import type { CellPeer } from "../../domain/cell-peer.ts";
import { version } from "../../version.ts";
import { webhookClient } from "../../webhook/client.ts";
import { askCell } from "../../webhook/hand-over.ts";
import { type Finding, findingsOf } from "./finding.ts";

export interface CellsQuestion {
  cell: string;
  cellPeers: readonly CellPeer[];
  ingestToken: string | undefined;
}

/** Checks that the other cells answer, have the same INGEST_TOKEN, and that each has a CELL of its own. Finds nothing without CELL_PEERS. */
export async function checkCells({ cell, cellPeers, ingestToken }: CellsQuestion): Promise<Finding[]> {
  const { ok, fail } = findingsOf("cells");
  const client = webhookClient({ allowPrivate: true, version, timeoutMs: 5_000 });

  async function check(peer: CellPeer): Promise<{ host: string; cell?: string; finding: Finding }> {
    const { host, url } = peer;
    const answer = await askCell(client, peer);
    if ("why" in answer) {
      const todo = "Check CELL_PEERS, and that it runs: mail for it waits meanwhile";
      return { host, finding: fail(`${host} cannot be reached at ${url} (${answer.why})`, todo) };
    }
    // A mail without recipients is refused as such only behind the right token.
    const headers = { authorization: `Bearer ${ingestToken}`, "content-type": "message/rfc822" };
    const refused = await client.post({ url: `${url}/v1/inbound`, headers, body: "" });
    const isKnown = refused.kind === "answered" && refused.status === 400;
    const finding = isKnown
      ? ok(`${host} is the cell ${answer.cell}, and takes mail`)
      : fail(`${host} takes no mail of ours`, "Set the same INGEST_TOKEN in all cells: mail for it waits meanwhile");
    return { host, cell: answer.cell, finding };
  }

  const checked = await Promise.all(cellPeers.map(check));
  client.close();
  const cells = [{ host: "this one", cell }, ...checked];
  const same = checked.flatMap(({ host, cell: known }) => {
    const other = known && cells.find((each) => each.cell === known && each.host !== host);
    const todo =
      "Give each cell its own: the balancer leads keys by it, and mail of moved accounts is refused as a circle";
    return other ? [fail(`${host} has the same CELL as ${other.host}: ${known}`, todo)] : [];
  });
  return [...checked.map(({ finding }) => finding), ...same];
}
