import { useEffect, useRef, useState } from "preact/hooks";
import { apiHref } from "../address.ts";
import type { Schemas } from "../api.ts";

/** Until it is known how high it is, it takes about as much as a short mail. */
const firstHeight = 120;

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
    setPictures(inside.querySelectorAll("img[data-remote]").length);
    const measure = () => setHeight(Math.ceil(inside.documentElement.getBoundingClientRect().height) + 2);
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
