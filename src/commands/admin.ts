import type { AdminRequest } from "../control/administer.ts";

/** Does what only an operator may, on the database of these settings. */
export async function admin(request: AdminRequest): Promise<object> {
  const { adminHere } = await import("./admin/here.ts");
  return adminHere(request);
}
