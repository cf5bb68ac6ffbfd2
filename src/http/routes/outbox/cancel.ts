import { notFound } from "../../../domain/errors.ts";
import { cancelMail } from "../../../flows/send/cancel-mail.ts";
import { api } from "../../shell/app.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { idPath } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { Message, toMessage } from "../mail/message-shape.ts";
import { ownedMessage, type ReadingDeps } from "../mail/messages.ts";

/** Takes back a mail that waits to be sent. */
export function cancel(deps: ReadingDeps) {
  return api("/v1/messages", "Sending").post(
    "/:id/cancel",
    async ({ account, params }) => {
      await cancelMail(deps, account.id, params.id);
      const shown = await toMessage(deps, account.id, await ownedMessage(deps, account.id, params.id));
      if (shown === undefined) throw notFound("message");
      return shown;
    },
    operation({
      summary: "Cancel message",
      description:
        "Takes a mail back that waits in the outbox: it is `failed` with the reason `canceled`, and `message.failed` tells it. Recipients to whom it was sent stay so. While an attempt is in hand nothing is changed and it is refused: who is told `canceled` is never surprised later, but where `mayHaveBeenSent` says so.",
      path: idPath("message"),
      whenRefused: whetherThere((accountId, id) => ownedMessage(deps, accountId, id)),
      answers: { 200: Message },
      refuses: ["send_in_progress", "not_cancelable"],
    }),
  );
}
