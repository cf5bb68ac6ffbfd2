import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { unavailable } from "./errors.ts";
import { oneOf } from "./models.ts";
import { operation } from "./operation.ts";

/** Whether the service can do its work; the reason is shown to whoever asks, so it names no address and no secret. */
export type Readiness = { ready: true } | { ready: false; reason: string };

export interface HealthDeps {
  health(): Promise<Readiness>;
  isDraining(): boolean;
}

/** For whoever watches the process: both answer without a key (contract §11). */
export function health(deps: HealthDeps) {
  return new Elysia({ tags: ["Health"] })
    .get(
      "/healthz",
      () => ({ status: "ok" as const }),
      operation({
        summary: "Check health",
        description: "Answers as long as the process does. Restart the process when it does not.",
        open: true,
        answers: { 200: Type.Object({ status: oneOf(["ok"]) }, { description: "The process answers" }) },
      }),
    )
    .get(
      "/readyz",
      async () => {
        if (deps.isDraining()) throw unavailable("the service is shutting down");
        const readiness = await deps.health();
        if (!readiness.ready) throw unavailable(readiness.reason);
        return { status: "ready" as const };
      },
      operation({
        summary: "Check readiness",
        description:
          "Ready when the database is reachable and migrated and the listeners are up. 503 tells the reason in `detail`. Send no traffic until it is ready.",
        open: true,
        answers: { 200: Type.Object({ status: oneOf(["ready"]) }, { description: "Ready for traffic" }) },
      }),
    );
}
