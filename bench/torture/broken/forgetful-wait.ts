/** Broken on purpose: sometimes a wait returns the cursor of a mail that came meanwhile without the mail. */
import { changeAnswers } from "./answers.ts";
import { asItIs, portOf, serveBroken } from "./support.ts";

let found = 0;

changeAnswers(async (request, answer) => {
  if (!new URL(request.url).pathname.endsWith("/wait") || answer.status !== 200) return answer;
  const { message, cursor } = (await answer.json()) as { message: unknown; cursor: string };
  if (message !== null) found += 1;
  return Response.json({ message: found % 10 === 0 ? null : message, cursor }, { headers: { connection: "close" } });
});
await serveBroken(asItIs, portOf);
