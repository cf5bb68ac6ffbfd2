import type { Logger } from "pino";
import type { Config } from "../../config.ts";
import type { Siblings } from "../../metrics/service.ts";
import { type Service, startService } from "../../service/start.ts";
import { realWorld } from "../../service/time-and-chance.ts";
import { messageOf } from "../failure.ts";
import { type FromProcess, startedOf, type ToProcess } from "./messages.ts";
import { reload } from "./reload.ts";

/** Runs one of several processes until its parent or a signal ends it. The parent prints, and logs what concerns all. */
export async function serveAsOneOfMany(
  config: Config,
  log: Logger,
  started: (service: Service, log: Logger) => void,
): Promise<number> {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  const answers = new Map<number, (values: Awaited<ReturnType<Siblings["values"]>>) => void>();
  let service: Service | undefined;
  let isStopping = false;

  function tell(message: FromProcess): void {
    process.send?.(message);
  }

  function stop(): void {
    // A terminal and systemd may send the signal to all processes, and the parent passes on its own.
    if (isStopping) return;
    isStopping = true;
    // A start that is not complete has accepted nothing.
    const done = service === undefined ? Promise.resolve() : service.stop();
    done.then(
      () => end(0),
      (error: unknown) => {
        log.error({ err: error }, "stopped with an error");
        end(1);
      },
    );
  }

  process.on("SIGTERM", stop).on("SIGINT", stop).on("disconnect", stop);
  // The parent sends a message when it gets the signal.
  process.on("SIGHUP", () => undefined);
  process.on("message", (message: ToProcess) => {
    if (message.kind === "stop") stop();
    else if (message.kind === "reload") void (service && reload(service, log));
    else if (message.kind === "alive") tell(message);
    else if (message.kind === "values") void service?.metricValues().then((values) => tell({ kind: "values", values }));
    else answers.get(message.question)?.(message.values);
  });

  let questions = 0;
  const siblings: Siblings = {
    values() {
      const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<Siblings["values"]>>>();
      const question = ++questions;
      answers.set(question, (values) => {
        answers.delete(question);
        resolve(values);
      });
      tell({ kind: "others", question });
      return promise;
    },
    keep: (values) => tell({ kind: "values", values }),
  };

  startService(config, log, realWorld, siblings).then(
    (running) => {
      service = running;
      tell({ kind: "started", started: startedOf(running) });
      started(running, log);
    },
    // The parent ends this process when it has the reason, so the message is not lost.
    (error: unknown) => tell({ kind: "failed", reason: messageOf(error) }),
  );
  return ended;
}
