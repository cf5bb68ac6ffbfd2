import { Refusal } from "../errors.ts";

/**
 * The suspension of an account. `sending`: nothing is sent. `all`: nothing is sent, taken or answered. `moving`: as `all`, for
 * the time in which the account moves to another service, so clients are told to come back.
 */
export const suspensions = ["sending", "all", "moving"] as const;

export type Suspension = (typeof suspensions)[number];

/** The state of an account that is not open: suspended, or deleted and not removed yet. */
export type Closure = Suspension | "deleted";

/** How soon a client should try again while its account moves. */
const movingSeconds = 30;

/** The purpose of the refused request, for its message. */
export interface Refusable {
  /** Whether it sends mail. */
  sends: boolean;
  /** Whether it only shows the account, which a suspended account may do. */
  showsAccount: boolean;
}

/** Throws if the account's suspension closes this request. `doing` begins the message: "send email". */
export function refuseSuspended(closure: Closure | undefined, { sends, showsAccount }: Refusable, doing: string): void {
  if (closure === undefined || showsAccount || (closure === "sending" && !sends)) return;
  if (closure === "moving") {
    const details = { retryAfterSeconds: movingSeconds };
    throw new Refusal("service_unavailable", `Cannot ${doing}: the account moves to another service`, details);
  }
  const scope = closure === "sending" ? "sending" : "all";
  throw new Refusal("account_suspended", `Cannot ${doing}: the operator has suspended the account`, {
    extra: { scope },
  });
}

/** Whether mail for the account is refused for now, so that its senders keep it. */
export function refusesMail(closure: Closure | undefined): boolean {
  return closure === "all" || closure === "moving";
}
