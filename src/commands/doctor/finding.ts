/** The result of one check. `todo` is the advice, for every level but `ok`. */
export interface Finding {
  check: string;
  level: "ok" | "warn" | "fail";
  seen: string;
  todo?: string;
}

/** Makes the findings of one check. */
export function findingsOf(check: string) {
  return {
    ok: (seen: string): Finding => ({ check, level: "ok", seen }),
    warn: (seen: string, todo: string): Finding => ({ check, level: "warn", seen, todo }),
    fail: (seen: string, todo: string): Finding => ({ check, level: "fail", seen, todo }),
  };
}

export function hasFailure(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === "fail");
}

/** The findings as text: a line each, with the advice below. */
export function shownFindings(findings: readonly Finding[]): string {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, seen, todo }) => [
    `${level.padEnd(4)}  ${check.padEnd(width)}  ${seen}`,
    ...(todo === undefined ? [] : todo.split("\n").map((line) => `${" ".repeat(width + 8)}→ ${line}`)),
  ]);
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length;
  return `${lines.join("\n")}\n\n${count("ok")} ok, ${count("warn")} to check, ${count("fail")} failed\n`;
}
