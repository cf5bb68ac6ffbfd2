import { useEffect, useState } from "preact/hooks";
import { isSignedOut, wordsOf } from "../api.ts";
import { listen } from "../live.ts";
import { Fault } from "../parts/fault.tsx";
import { account, findAccount, may, signIn, takeLinkToken } from "../session.ts";
import { SignIn } from "../sign-in/sign-in.tsx";
import { Coming } from "./coming.tsx";
import { Frame } from "./frame.tsx";

/** Who is here decides what is shown: nobody, one whose session is over, or one whose console it is. */
export function Console() {
  const [start, setStart] = useState<Start>({ isOver: false });
  useEffect(() => void begin().then(setStart), []);
  const owner = account.value;
  const isIn = owner !== undefined && !isSignedOut.value;
  useEffect(() => {
    if (!isIn || !may("read")) return undefined;
    const end = new AbortController();
    void listen(end.signal);
    return () => end.abort();
  }, [isIn]);

  if (!start.isOver) return <Coming />;
  if (start.error !== undefined) return <Fault error={start.error} again={() => location.reload()} />;
  if (isIn) return <Frame />;
  return <SignIn why={start.why ?? (owner !== undefined ? sessionOver : undefined)} />;
}

interface Start {
  isOver: boolean;
  why?: string | undefined;
  error?: unknown;
}

const sessionOver = "Your session has ended, or its key was revoked. What you had written is kept until you are back.";

/** By the token of a link where one came along, else by the session that the browser has. */
async function begin(): Promise<Start> {
  const token = takeLinkToken();
  try {
    const fault = token === undefined ? await findAccount() : await signIn(token);
    return { isOver: true, why: fault === undefined ? undefined : linkOver };
  } catch (error) {
    return { isOver: true, error: new Error(wordsOf(error)) };
  }
}

const linkOver = "This link is not valid any more: each holds for five minutes. Make a new one, or enter an API key.";
