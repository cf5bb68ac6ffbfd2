import { type Logger, pino } from "pino";
import type { Config } from "../../config.ts";
import { oneLine } from "../../standards/text.ts";
import { print } from "../terminal.ts";

/** The log of the service, in the format of the settings. */
export function loggerOf({ logLevel, logFormat }: Config, stream: NodeJS.WriteStream): Logger {
  const options = {
    level: logLevel,
    formatters: { level: (level: string) => ({ level }) },
    base: { service: "inboxd" },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return logFormat === "pretty" ? pino(options, prettyStream(stream)) : pino(options, stream);
}

const urgent: readonly unknown[] = ["warn", "error", "fatal"];

/** A stream that prints one line for a person instead of JSON. */
export function prettyStream(stream: NodeJS.WriteStream = process.stdout): { write: (line: string) => void } {
  return {
    write(line) {
      const { level, time, msg, service: _service, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const fields = Object.entries(rest).map(
        ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
      );
      const at = String(time).slice(11, 23);
      const shown = urgent.includes(level) ? String(level).toUpperCase() : String(level);
      print(`${at} ${shown.padEnd(5)} ${oneLine([msg, ...fields].join(" "))}\n`, stream);
      const stack = (err as { stack?: string } | undefined)?.stack;
      if (stack !== undefined) print(`${stack}\n`, stream);
    },
  };
}
