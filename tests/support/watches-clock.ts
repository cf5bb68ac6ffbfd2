/**
 * For the few tests that hold something against the clock of the wall, which other work on the machine can make late: they get two
 * more tries, and the run lists who needed one. No other test gets any: what fails once in a hundred runs is a find.
 */
export const watchesClock = { retry: 2 } as const;
