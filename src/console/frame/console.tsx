import { useEffect, useState } from "preact/hooks";
import { go, href, place } from "../address.ts";
import { isSignedOut, wordsOf } from "../api.ts";
import { listen } from "../live.ts";
import { Fault } from "../parts/fault.tsx";
import { account, findAccount, may, type OpenLink, signInByLink, takeLinkToken } from "../session.ts";
import { OtherAccount } from "../sign-in/other-account.tsx";
import { SignIn } from "../sign-in/sign-in.tsx";
import { Coming } from "./coming.tsx";
import { Frame } from "./frame.tsx";
import { tell } from "./notice.tsx";

/** Shows the frame to the holder of a session, and the form for signing in to everybody else. */
export function Console() {
  const [start, setStart] = useState<Start>({ isOver: false });
  const beginAnew = () => void begin().then(setStart);
  useEffect(() => {
    // A link that is opened in this very tab loads no page.
    const onHash = () => location.hash.startsWith("#t=") && beginAnew();
    beginAnew();
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const owner = account.value;
  const isIn = owner !== undefined && !isSignedOut.value;
  useEffect(() => {
    if (isIn && place.value.path === "login") go(href(""), true);
  }, [isIn]);
  useEffect(() => {
    if (!isIn || !may("read")) return undefined;
    const end = new AbortController();
    void listen(end.signal);
    return () => end.abort();
  }, [isIn]);

  if (!start.isOver) return <Coming />;
  if (start.error !== undefined) return <Fault error={start.error} again={() => location.reload()} />;
  if (start.link !== undefined) return <OtherAccount link={start.link} onKeep={beginAnew} />;
  if (isIn) return <Frame />;
  return <SignIn why={start.why ?? (owner !== undefined ? sessionOver : undefined)} />;
}

interface Start {
  isOver: boolean;
  why?: string | undefined;
  /** A link for which a session would have to go. */
  link?: OpenLink;
  error?: unknown;
}

const sessionOver = "Your session has ended, or its key was revoked. What you had written is kept until you are back.";

/** By the token of a link where one came along, else by the session that the browser has. */
async function begin(): Promise<Start> {
  const token = takeLinkToken();
  try {
    const link = token === undefined ? undefined : await signInByLink(token);
    if (typeof link === "object") return { isOver: true, link };
    // A link that is over ends no session.
    if (account.value === undefined) await findAccount();
    if (link !== undefined && account.value !== undefined) tell(link, "bad");
    return { isOver: true, why: link };
  } catch (error) {
    return { isOver: true, error: new Error(wordsOf(error)) };
  }
}
