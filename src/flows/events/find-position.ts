import { notFound } from "../../domain/errors.ts";
import { type LogPosition, startName, startOfLog } from "../../domain/events/log-position.ts";
import { isId } from "../../domain/ids.ts";
import { findLogPosition } from "../../store/events/events.ts";
import type { Deps } from "../deps.ts";

/** The position that a client names: the id of an event of its log, or `start`. */
export async function findPosition({ db }: Pick<Deps, "db">, accountId: string, name: string): Promise<LogPosition> {
  if (name === startName) return startOfLog;
  const position = isId("evt", name) ? await findLogPosition(db.api, accountId, name) : undefined;
  if (position === undefined) throw notFound("event");
  return position;
}
