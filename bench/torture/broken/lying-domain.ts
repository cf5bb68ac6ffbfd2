/** Broken on purpose: answers a send from a domain that is not proven as if it were accepted. */
import { changeAnswers } from "./answers.ts";
import { asItIs, serveBroken, workingEarly } from "./support.ts";

changeAnswers(async (_request, answer) => {
  if (answer.status !== 422) return answer;
  const { code } = (await answer.clone().json()) as { code: string };
  return code === "domain_not_verified" ? Response.json({ messageId: "msg_never" }) : answer;
});

await serveBroken(asItIs, workingEarly);
