import { Refusal } from "../../../domain/errors.ts";
import type { AskedAttachment } from "../../../domain/send/attachment-words.ts";
import type { SendRequest, SendResult } from "../../../domain/send/send.ts";
import { resolveFiles } from "../../../flows/send/resolve-files.ts";
import { type FormFiles, formFiles } from "../../../flows/send/take-form-file.ts";
import type { UploadDeps } from "../../../flows/send/write-files.ts";
import { refuseFaulty } from "../../judging/faults.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { declaredBytes, streamedBody } from "../../shell/streamed-body.ts";
import { faultsBesideForm } from "./attachment-fields.ts";
import type { ReadEmail } from "./new-email.ts";
import { readSendForm } from "./send-form.ts";

export interface FormDeps extends UploadDeps {
  sendEmail: (request: SendRequest) => Promise<SendResult>;
}

/** Sends with files: those of a form, and those that the request names. */
export function takenForms(deps: FormDeps) {
  /** The files of forms, until they are sent or refused. */
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
    asked: SendRequest,
    attachments: readonly AskedAttachment[] | undefined,
    request: Request,
  ): Promise<SendResult> {
    const form = formsTaken.get(request);
    const hasFiles = attachments !== undefined || form !== undefined || asked.forwardOf !== undefined;
    return hasFiles ? sendWithFiles(asked, attachments ?? [], form) : deps.sendEmail(asked);
  }

  /** Releases the files of the form in any case. A message that was accepted keeps its own reference to them. */
  async function sendWithFiles(
    asked: SendRequest,
    attachments: readonly AskedAttachment[],
    form: FormFiles | undefined,
  ): Promise<SendResult> {
    const resolved = await resolveFiles(deps, asked, attachments, form?.attachments ?? []).catch(async (error) => {
      await form?.release();
      if (error instanceof Refusal) return { refusal: error };
      throw error;
    });
    if ("refusal" in resolved) return { kind: "refused", refusal: resolved.refusal, usage: undefined };
    try {
      return await deps.sendEmail(resolved.request);
    } finally {
      await Promise.all([form?.release(), resolved.release()]);
    }
  }

  return { take, send };
}

/** Room for the texts of a form. */
const roomForText = 4_000_000;
