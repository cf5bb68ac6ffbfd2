import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Readiness } from "../../flows/readiness.ts";
import { serviceIdHeader } from "../../standards/service-id.ts";
import { named } from "../document/schema.ts";
import { unavailable } from "./errors.ts";
import { oneOf } from "./models.ts";
import { operation } from "./operation.ts";

export interface HealthDeps {
  health(): Promise<Readiness>;
  isDraining(): boolean;
  /** Distinguishes this service from others on the same machine. */
  serviceId: string;
  /** The cell that new keys name. */
  cell: string;
}

/** Health checks for a supervisor of the process. They need no key (contract §11). */
export function health(deps: HealthDeps) {
  const alive = ({ set }: { set: { headers: Record<string, string | number> } }) => {
    set.headers[serviceIdHeader] = deps.serviceId;
    return { status: "ok" as const, cell: deps.cell };
  };
  return new Elysia({ tags: ["Health"] })
    .get("/health", alive, { detail: { hide: true } })
    .get(
      "/healthz",
      alive,
      operation({
        summary: "Check health",
        access: "open",
        description: "Answers as long as the process works. Restart the process if it does not. `/health` is the same.",
        answers: { 200: Health },
        answerHeaders: {
          200: { "X-Inboxd-Service": "Id of the service: the same for all processes on one database" },
        },
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
        access: "open",
        description:
          "Ready when the database is migrated and writable, and the listeners are up. It checks the database at most once a second; with the embedded database a commit within the last second is enough. 503 has the reason in `detail`. Send no traffic until it is ready.",
        answers: { 200: named("Readiness", statusAlone("ready", "Ready for traffic")) },
      }),
    );
}

const Health = named(
  "Health",
  Type.Object(
    {
      status: oneOf(["ok"], { description: "The process answers" }),
      cell: Type.String({
        description: "The cell of its new keys: the two characters behind `ibx_`",
        examples: ["00"],
      }),
    },
    { description: "The process answers" },
  ),
);

function statusAlone<const Word extends string>(word: Word, description: string) {
  return Type.Object({ status: oneOf([word], { description }) }, { description });
}
