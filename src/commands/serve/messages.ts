import type { ProcessValues } from "../../metrics/registry.ts";
import type { Service } from "../../service/start.ts";

/** The facts of a start that the banner and the log show. */
export interface Started extends Pick<Service, "smtp" | "engine" | "firstStart"> {
  apiUrl: string;
  metricsUrl: string | undefined;
  signInUrl: string | undefined;
}

export function startedOf({ smtp, engine, firstStart, apiUrl, metricsUrl, signIn }: Service): Started {
  return { smtp, engine, firstStart, apiUrl: apiUrl.href, metricsUrl: metricsUrl?.href, signInUrl: signIn?.url };
}

/** A message of one of several processes (PROCESSES) to its parent. */
export type FromProcess =
  | { kind: "started"; started: Started }
  | { kind: "failed"; reason: string }
  /** The values of this process, as asked for or after a page of metrics. */
  | { kind: "values"; values: ProcessValues }
  /** Asks for the values of all others. */
  | { kind: "others"; question: number }
  | { kind: "alive" };

/** A message of the parent to a process. */
export type ToProcess =
  | { kind: "stop" }
  | { kind: "reload" }
  | { kind: "values" }
  | { kind: "others"; question: number; values: readonly ProcessValues[] }
  /** Asks whether the event loop runs; the answer is the same message. */
  | { kind: "alive" };

/** The variable that gives a process its number, from 1 on. */
export const numberVariable = "INBOXD_PROCESS";
