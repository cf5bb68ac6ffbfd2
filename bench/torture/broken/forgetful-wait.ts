/** Broken on purpose: of a mail that came while somebody waited for it only the place is told, now and then. */
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
