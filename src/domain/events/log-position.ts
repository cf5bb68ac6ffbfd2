/** A position in the log of events: right after the event with this id. */
export interface LogPosition {
  id: string;
  /** Number of the transaction that wrote the event, in decimal. The log is in order of this number, then of the id. */
  writtenBy: string;
}

/** The position before all events, which is also the end of an empty log. */
export const startOfLog: LogPosition = { id: "", writtenBy: "0" };

/** The position of an event from its row, without the other fields of the row. */
export function positionOf({ id, writtenBy }: LogPosition): LogPosition {
  return { id, writtenBy };
}

/** The later of two positions. */
export function laterPosition(one: LogPosition, other: LogPosition): LogPosition {
  return positionOf(comparePositions(one, other) < 0 ? other : one);
}

/** The name of a position, which a client sends to continue there: the id of the event, or `start` for the start of the log. */
export function positionName({ id }: LogPosition): string {
  return id === "" ? startName : id;
}

export const startName = "start";

/** Less than 0 if `one` comes before `other` in the log, more than 0 if it comes after, 0 if they are the same position. */
export function comparePositions(one: LogPosition, other: LogPosition): number {
  return (
    one.writtenBy.length - other.writtenBy.length ||
    inAscii(one.writtenBy, other.writtenBy) ||
    // Compares ids byte by byte, as the index of the database sorts them (collation "C").
    inAscii(one.id, other.id)
  );
}

function inAscii(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
