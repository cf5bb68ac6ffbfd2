import type { Caller } from "../../../domain/access/access.ts";
import type { AskedAttachment } from "../../../domain/send/attachment-words.ts";
import type { SendRequest, SendResult } from "../../../domain/send/send.ts";
import { type SendingWithFiles, sendWithFiles } from "../../../flows/send/send-with-files.ts";
import { type FormFiles, formFiles } from "../../../flows/send/take-form-file.ts";
import { refuseFaulty } from "../../judging/faults.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { declaredBytes, streamedBody } from "../../shell/streamed-body.ts";
import { faultsBesideForm } from "./attachment-fields.ts";
import type { ReadEmail } from "./new-email.ts";
import { readSendForm } from "./send-form.ts";

/** Reads send requests that are forms (`take`), and sends mail with or without files (`send`). */
export function takenForms(deps: SendingWithFiles) {
  /** The files of requests that are forms, until they are sent or refused. */
  const formsTaken = new WeakMap<Request, FormFiles>();

  async function take(
    { account, request }: Refused & { request: Request },
    judge: (value: unknown) => unknown,
  ): Promise<unknown> {
    const { sendMaxBytes } = deps.uploads;
    const files = formFiles(deps, account.id, Math.min(declaredBytes(request) ?? sendMaxBytes, sendMaxBytes));
    try {
      const value = await readSendForm(
        request.headers.get("content-type") ?? "",
        streamedBody(request, sendMaxBytes + roomForText),
        files,
      );
      const judged = judge(value) as ReadEmail;
      refuseFaulty("validation_error", "send email", faultsBesideForm(judged.attachments ?? [], files.attachments));
      formsTaken.set(request, files);
      return judged;
    } catch (error) {
      await files.release();
      throw error;
    }
  }

  function send(
    caller: Caller,
    asked: SendRequest,
    attachments: readonly AskedAttachment[] | undefined,
    request: Request,
  ): Promise<SendResult> {
    const form = formsTaken.get(request);
    const hasFiles = attachments !== undefined || form !== undefined || asked.forwardOf !== undefined;
    return hasFiles ? sendWithFiles(deps, caller, asked, attachments ?? [], form) : deps.sendEmail(asked);
  }

  return { take, send };
}

/** The most bytes of a form in addition to its files. */
const roomForText = 4_000_000;
