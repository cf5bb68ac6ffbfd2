/** What one check found. `todo` says what to do about it, and is there whenever the level is not `ok`. */
export interface Finding {
  check: string;
  level: "ok" | "warn" | "fail";
  seen: string;
  todo?: string;
}

/** The findings of one check, whose name they all bear. */
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

/** For a person: one line for each finding, and what to do about it below. */
export function shownFindings(findings: readonly Finding[]): string {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  const lines = findings.flatMap(({ check, level, seen, todo }) => [
    `${level.padEnd(4)}  ${check.padEnd(width)}  ${seen}`,
    ...(todo === undefined ? [] : todo.split("\n").map((line) => `${" ".repeat(width + 8)}→ ${line}`)),
  ]);
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length;
  return `${lines.join("\n")}\n\n${count("ok")} ok, ${count("warn")} to look at, ${count("fail")} wrong\n`;
}
