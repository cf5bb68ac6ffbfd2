/** Broken on purpose: answers by HTTP that a mail is refused, and quarantines it. */
import { changeAnswers } from "./answers.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

changeAnswers(async (request, answer) => {
  if (new URL(request.url).pathname !== "/v1/inbound" || answer.status !== 200) return answer;
  const { recipients } = (await answer.clone().json()) as { recipients: { status: string }[] };
  if (recipients.some(({ status }) => status !== "quarantined")) return answer;
  return Response.json({ code: "sender_refused" }, { status: 403 });
});

await serveBroken(asItIs, portOf);
