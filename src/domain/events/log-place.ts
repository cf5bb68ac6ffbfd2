/** Where a reader of the log stands: behind the event of this id and position. */
export interface LogPlace {
  id: string;
  /** The event's position: a transaction's number, in decimal. */
  writtenBy: string;
}

/** Before all events: a log that is empty ends here too. */
export const startOfLog: LogPlace = { id: "", writtenBy: "0" };

/** What a reader is told of a place, and gives to come back to it. */
export function placeName({ id }: LogPlace): string {
  return id === "" ? startName : id;
}

export const startName = "start";

/** Less than 0 where one comes before the other in the log, more where it comes after, 0 where they are the same place. */
export function comparePlaces(one: LogPlace, other: LogPlace): number {
  return (
    one.writtenBy.length - other.writtenBy.length ||
    inAscii(one.writtenBy, other.writtenBy) ||
    // As the index has them, whose ids are collated as "C".
    inAscii(one.id, other.id)
  );
}

function inAscii(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
