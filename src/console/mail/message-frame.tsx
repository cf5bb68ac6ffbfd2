import { useEffect, useRef, useState } from "preact/hooks";
import { apiHref } from "../address.ts";
import type { Schemas } from "../api.ts";

/** Until it is known how high it is, it takes about as much as a short mail. */
const firstHeight = 120;
/** A mail that is higher scrolls within its frame. */
const mostHeight = 20_000;

/**
 * A stranger's mail in a frame of its own, at its height. It runs nothing, fetches nothing but its own pictures, and can lead nowhere but
 * to a new tab; `allow-same-origin` is there to measure it. Never add `allow-scripts`.
 */
export function MessageFrame({ message }: { message: Schemas["ListedMessage"] }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(firstHeight);
  const [pictures, setPictures] = useState(0);
  const [isRemote, setIsRemote] = useState(false);
  const [isDark, setIsDark] = useState(false);
  const observer = useRef<ResizeObserver | undefined>(undefined);
  useEffect(() => () => observer.current?.disconnect(), []);

  function loaded() {
    const inside = frame.current?.contentDocument;
    if (!inside?.body) return;
    const mail = inside.getElementById("mail")?.shadowRoot;
    setPictures(mail?.querySelectorAll("img[data-remote]").length ?? 0);
    let [highest, measuredWidth] = [0, 0];
    const measure = () => {
      const { width, height } = inside.documentElement.getBoundingClientRect();
      // A mail whose styles ask for the height of its window could make it shrink and grow in turns.
      highest = width === measuredWidth ? Math.max(highest, height) : height;
      measuredWidth = width;
      setHeight(Math.min(Math.ceil(highest) + 2, mostHeight));
    };
    measure();
    observer.current?.disconnect();
    observer.current = new ResizeObserver(measure);
    observer.current.observe(inside.documentElement);
  }

  const page = apiHref(`v1/messages/${encodeURIComponent(message.id)}/html${isRemote ? "?images=remote" : ""}`);
  return (
    <>
      <div class={isDark ? "paper is-dark" : "paper"}>
        <iframe
          ref={frame}
          src={page}
          title={`Mail: ${message.subject || "no subject"}`}
          sandbox="allow-popups allow-popups-to-escape-sandbox allow-same-origin"
          style={{ height: `${height}px` }}
          onLoad={loaded}
        />
      </div>
      <div class="paper-tools">
        {pictures > 0 && !isRemote && (
          <button type="button" class="link" onClick={() => setIsRemote(true)}>
            Show remote images ({pictures})
          </button>
        )}
        <button type="button" class="link" aria-pressed={isDark} onClick={() => setIsDark(!isDark)}>
          {isDark ? "On white" : "On dark"}
        </button>
      </div>
    </>
  );
}
