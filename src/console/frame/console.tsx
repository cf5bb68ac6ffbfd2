import { useEffect, useState } from "preact/hooks";
import { go, href, route } from "../address.ts";
import { errorText, isSignedOut } from "../api.ts";
import { listen } from "../live.ts";
import { Icon, Mark } from "../parts/icon.tsx";
import { Fault } from "../parts/load-state.tsx";
import { account, findAccount, may, type OpenLink, signInByLink, takeLinkToken } from "../session.ts";
import { OtherAccount } from "../sign-in/other-account.tsx";
import { SignIn } from "../sign-in/sign-in.tsx";
import { Frame } from "./frame.tsx";
import { notify } from "./notice.tsx";

/** Shows the frame if there is a session, else the sign-in form. */
export function Console() {
  const [start, setStart] = useState<Start>({ isOver: false });
  const startAgain = () => void begin().then(setStart);
  useEffect(() => {
    // A link that is opened in the same tab only changes the fragment.
    const onHash = () => location.hash.startsWith("#t=") && startAgain();
    startAgain();
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const owner = account.value;
  const isSignedIn = owner !== undefined && !isSignedOut.value;
  useEffect(() => {
    if (isSignedIn && route.value.path === "login") go(href(""), true);
  }, [isSignedIn]);
  useEffect(() => {
    if (!isSignedIn || !may("read")) return undefined;
    const end = new AbortController();
    void listen(end.signal);
    return () => end.abort();
  }, [isSignedIn]);

  if (!start.isOver) return <LoadingFrame />;
  if (start.error !== undefined) return <Fault error={start.error} onRetry={() => location.reload()} />;
  if (start.link !== undefined) return <OtherAccount link={start.link} onKeep={startAgain} />;
  if (isSignedIn) return <Frame />;
  return <SignIn why={start.why ?? (owner !== undefined ? sessionOver : undefined)} />;
}

interface Start {
  isOver: boolean;
  /** The reason why there is no session. */
  why?: string | undefined;
  /** A link for another account than that of the session. */
  link?: OpenLink;
  error?: unknown;
}

const sessionOver = "Your session has ended, or its key was revoked. Your draft is kept until you sign in again.";

/** Signs in by the token of a link if there is one, else by the session of the browser. */
async function begin(): Promise<Start> {
  const token = takeLinkToken();
  try {
    const link = token === undefined ? undefined : await signInByLink(token);
    if (typeof link === "object") return { isOver: true, link };
    // Also after an expired link, because that does not end the session of the browser.
    if (account.value === undefined) await findAccount();
    if (link !== undefined && account.value !== undefined) notify(link, "bad");
    return { isOver: true, why: link };
  } catch (error) {
    return { isOver: true, error: new Error(errorText(error)) };
  }
}

/** The empty frame, shown until the session is known, so that nothing moves afterwards. */
function LoadingFrame() {
  const brand = (
    <span class="brand">
      <Mark />
      inboxd
    </span>
  );
  return (
    <div class="frame" aria-busy="true">
      <header class="bar">
        <button type="button" class="quiet menu-button" aria-label="Menu" disabled>
          <Icon name="menu" />
        </button>
        {brand}
      </header>
      <div class="navigation-ground">{brand}</div>
      <main id="main" tabIndex={-1}>
        <span class="unseen">Loading</span>
      </main>
    </div>
  );
}
