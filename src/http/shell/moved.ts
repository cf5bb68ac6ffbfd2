/** The two characters of the cell to which an account has moved; undefined while it is here. */
export type CellOfMoved = (accountId: string) => Promise<string | undefined>;

/** Leads to the same URL in the cell to which an account has moved, which a balancer finds by the parameter. Undefined while it is here. */
export async function ledToCell(
  cellOfMoved: CellOfMoved | undefined,
  accountId: string,
  request: Request,
): Promise<Response | undefined> {
  const cell = await cellOfMoved?.(accountId);
  if (cell === undefined) return undefined;
  const url = new URL(request.url);
  url.searchParams.set("cell", cell);
  const headers = { location: `${url.pathname}${url.search}`, "cache-control": "no-store" };
  return new Response(null, { status: 307, headers });
}
