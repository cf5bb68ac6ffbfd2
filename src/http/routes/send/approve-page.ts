import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { statusOf } from "../../../domain/errors.ts";
import { type ApprovalPageDeps, decideByLink, openApproval } from "../../../flows/send/approval-page.ts";
import { codePointLength, isCleanText } from "../../../standards/text.ts";
import { examples } from "../../document/examples.ts";
import { readBodyOfAnyType } from "../../shell/body.ts";
import { refusalOf } from "../../shell/errors.ts";
import { type CellOfMoved, ledToCell } from "../../shell/moved.ts";
import { operation } from "../../shell/operation.ts";
import { shownPage, tooOften, type VisitsDeps, visits } from "../../shell/plain-page.ts";
import { failedPage, outcomePage, refusedPage, tooManyPage, waitingPage, wrongFormPage } from "./approve-pages.ts";

export type ApprovePageDeps = ApprovalPageDeps & VisitsDeps & { cellOfMoved?: CellOfMoved | undefined };

/** A reason of 500 characters takes up to 6,000 bytes of a form. */
const bodyLimits = { maxBytes: 16_384, timeoutMs: 10_000 };
const mostOfReason = 500;

const path = {
  token: {
    description:
      "The credential, in the path, where OpenAPI has no security scheme for it: it names a draft, its version and its approver, is signed, and ends with the approval",
    example: examples.approvalToken,
  },
};
const refusals = {
  403: shownPage(
    "The link is wrong or over, or its approver approves no mail of the inbox any more. The page is the same",
    "This link does not work",
  ),
  429: shownPage(tooOften, "Try again in a minute"),
  500: shownPage("Something went wrong", "Nothing was decided"),
  503: shownPage("The service is shutting down, or its database is away", "Nothing was decided"),
};

/**
 * The page of a link on which a person approves or rejects a mail. It is mounted without the guard, since that person has no key. All its
 * answers are pages, errors too.
 */
export function approvePage(deps: ApprovePageDeps) {
  const visit = visits(deps);

  /** Answers with the page that `make` returns, or with one for its error. */
  async function answered(request: Request, make: (ip: string | null) => Promise<Response>): Promise<Response> {
    const id = request.headers.get("x-request-id") ?? "";
    try {
      const { ip, waitSeconds } = visit(request);
      return waitSeconds === undefined ? await make(ip) : tooManyPage(waitSeconds);
    } catch (error) {
      const { pathname } = new URL(request.url);
      const { reason } = refusalOf({ error, method: request.method, path: pathname, request_id: id }, deps.log);
      return failedPage(statusOf[reason]);
    }
  }

  return (
    new Elysia({ prefix: "/approve", tags: ["Drafts"] })
      .get(
        "/:token",
        ({ params, request }) =>
          answered(request, async () => {
            const opened = await openApproval(deps, params.token ?? "");
            if (opened === undefined) return refusedPage();
            const { accountId } = opened.kind === "waiting" ? opened.view.draft : opened.draft;
            const led = await ledToCell(deps.cellOfMoved, accountId, request);
            if (led !== undefined) return led;
            return opened.kind === "waiting" ? waitingPage(opened.view) : outcomePage(opened);
          }),
        operation({
          summary: "Show approval page",
          access: "open",
          description:
            "Shows a mail that waits for approval, with two buttons, to who has its link. It changes nothing, because scanners of mail fetch each link. If the mail is decided, or was changed since, the page says what became of it.",
          path,
          refuses: ["invalid_signature", "link_expired", "rate_limit_exceeded"],
          answers: {
            200: shownPage("The page", "Approve this mail?"),
            307: Type.Void({ description: "The account has moved to another cell of the service" }),
            ...refusals,
          },
          answerHeaders: { 307: { Location: "The same URL with the other cell" } },
        }),
      )
      .post(
        "/:token",
        ({ params, request, set }) =>
          answered(request, async (ip) => {
            const token = params.token ?? "";
            const asked = readDecision(await readBodyOfAnyType(request, bodyLimits));
            if (typeof asked === "string") return wrongFormPage(asked);
            const requestId = String(set.headers["x-request-id"] ?? "") || null;
            if (!(await decideByLink(deps, token, asked, { ip, requestId }))) return refusedPage();
            // A relative address, so that it is right behind a proxy too.
            return new Response(null, { status: 303, headers: { location: token, "cache-control": "no-store" } });
          }),
        operation({
          summary: "Decide on approval page",
          access: "open",
          description:
            "Approves or rejects the mail, and leads to the page that says what became of it. Of two people at once one decides.",
          path,
          otherBodies: {
            "application/x-www-form-urlencoded": {
              schema: {
                type: "object",
                properties: {
                  decision: { type: "string", enum: ["approve", "reject"], examples: ["approve"] },
                  version: { type: "string", description: "The version that the page has shown", examples: ["1"] },
                  reason: { type: "string", maxLength: mostOfReason, examples: [""] },
                },
                required: ["decision", "version"],
              },
              example: { decision: "reject", version: "1", reason: "Not this customer" },
            },
          },
          refuses: [
            "invalid_signature",
            "link_expired",
            "invalid_form",
            "rate_limit_exceeded",
            "unsupported_media_type",
          ],
          answers: {
            303: Type.Void({ description: "Leads to the outcome" }),
            400: shownPage("The form is wrong", "Nothing was decided"),
            413: shownPage("The form has more than 16 KiB", "Nothing was decided"),
            415: shownPage("The form has a Content-Encoding", "Nothing was decided"),
            ...refusals,
          },
          answerHeaders: { 303: { Location: "The page of the link" } },
        }),
      )
      // Of a link that was cut off, or that something was added to.
      .get("/", refusedPage, hidden)
      .get("/*", refusedPage, hidden)
  );
}

const hidden = { parse: "none" as const, detail: { hide: true } };

/** Reads the form. A text is its fault. */
function readDecision(bytes: Uint8Array) {
  const fields = new URLSearchParams(Buffer.from(bytes).toString());
  const decision = fields.get("decision");
  if (decision !== "approve" && decision !== "reject") return "The form has no decision";
  const version = fields.get("version") ?? "";
  if (!/^[1-9]\d{0,8}$/.test(version)) return "The form has no version";
  const reason = (fields.get("reason") ?? "").trim();
  if (!isCleanText(reason) || codePointLength(reason) > mostOfReason)
    return `The reason must have at most ${mostOfReason} characters`;
  return {
    decision,
    version: Number(version),
    reason: decision === "reject" && reason !== "" ? reason : undefined,
  } as const;
}
