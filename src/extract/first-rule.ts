/** A row of a table of rules: an example, a condition, and the result if the condition is true. */
export type Rule<Facts, Result> = readonly [example: string, fits: (facts: Facts) => boolean, result: Result];

/** The result of the first rule that fits, or undefined if none does. */
export function firstRule<Facts, Result>(rules: readonly Rule<Facts, Result>[], facts: Facts): Result | undefined {
  return rules.find(([, fits]) => fits(facts))?.[2];
}
