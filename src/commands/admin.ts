import type { AdminRequest } from "../control/administer.ts";

/** Runs an operator's request on the database of these settings. Imports its code only when it runs. */
export async function admin(request: AdminRequest): Promise<object> {
  const { adminHere } = await import("./admin/here.ts");
  return adminHere(request);
}
