/**
 * For the few tests with a bound on wall-clock time, which other work on the machine can delay: they get two more tries, and the
 * run lists those that needed one. No other test is retried: a failure once in a hundred runs is a find.
 */
export const watchesClock = { retry: 2 } as const;
