import { oneLine } from "../standards/text.ts";
import { tell } from "./terminal.ts";

const urgent: readonly unknown[] = ["warn", "error", "fatal"];

/** One line for a person instead of JSON, without another process or package. */
export function prettyStream(stream: NodeJS.WriteStream = process.stdout): { write: (line: string) => void } {
  return {
    write(line) {
      const { level, time, msg, service: _service, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const fields = Object.entries(rest).map(
        ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
      );
      const at = String(time).slice(11, 23);
      const shown = urgent.includes(level) ? String(level).toUpperCase() : String(level);
      tell(`${at} ${shown.padEnd(5)} ${oneLine([msg, ...fields].join(" "))}\n`, stream);
      const stack = (err as { stack?: string } | undefined)?.stack;
      if (stack !== undefined) tell(`${stack}\n`, stream);
    },
  };
}
