import { type Logger, pino } from "pino";
import type { Config } from "../../config.ts";
import { prettyStream } from "../pretty-log.ts";

/** What the service tells of itself, in the form that the settings ask for. */
export function loggerOf({ logLevel, logFormat }: Config, stream: NodeJS.WriteStream): Logger {
  const options = {
    level: logLevel,
    formatters: { level: (level: string) => ({ level }) },
    base: { service: "inboxd" },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return logFormat === "pretty" ? pino(options, prettyStream(stream)) : pino(options, stream);
}
