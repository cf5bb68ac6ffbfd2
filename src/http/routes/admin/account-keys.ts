import type { Refusal } from "../../../domain/errors.ts";
import { byOperator } from "../../../flows/account/manage-keys.ts";
import type { Deps } from "../../../flows/deps.ts";
import { adminPath, api } from "../../shell/app.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { operation } from "../../shell/operation.ts";
import { CreatedKey, faultsOfKey, NewKey } from "../account/key-shapes.ts";
import { createdKey } from "../account/keys.ts";
import { accountPath, livingAccount } from "./accounts.ts";

/** Keys of any account, for operators. All else about keys an operator does in the account, with `X-Inboxd-Account`. */
export function adminAccountKeys(deps: Deps) {
  const whenRefused = async ({ params }: Refused, refusal: Refusal) => {
    await livingAccount(deps, params.id ?? "");
    return refusal;
  };
  return api(`${adminPath}/accounts`, "Admin").post(
    "/:id/keys",
    async ({ actor, params, body, set }) => {
      const account = await livingAccount(deps, params.id);
      return createdKey(deps, byOperator(account, actor), body, set);
    },
    operation({
      summary: "Create key of any account",
      access: "operator",
      description:
        "Creates a key of this account, as `POST /v1/keys` does for its own keys: for one that has lost all of them. The answer has the key itself, which is shown only here.",
      path: accountPath,
      whenRefused,
      body: NewKey,
      bodyMayBeEmpty: true,
      alsoWrong: faultsOfKey,
      answers: { 201: CreatedKey },
      answerHeaders: { 201: { Location: "Path of the key, within the account" } },
      refuses: ["quota_exceeded"],
    }),
  );
}
