import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { apiHref } from "../address.ts";
import type { Schemas } from "../api.ts";

interface MessageFrameProps {
  message: Schemas["ListedMessage"];
  /** Whether only what is new in the mail is shown. */
  hidesQuotes: boolean;
  /** Buttons below the mail. */
  children: ComponentChildren;
}

/** The height until the mail is measured: about that of a short mail. */
const firstHeight = 120;
/** A higher mail scrolls within its frame. */
const maxHeight = 20_000;

/**
 * Shows a stranger's mail in a frame as high as the mail. The mail runs no scripts, loads remote pictures only on
 * request, and its links open new tabs. `allow-same-origin` is needed to measure it. Never add `allow-scripts`: with
 * both, scripts of the mail could act as this page.
 */
export function MessageFrame({ message, hidesQuotes, children }: MessageFrameProps) {
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
      // The height only grows while the width stays the same: styles that depend on the height of the window could make
      // it shrink and grow in turns.
      highest = width === measuredWidth ? Math.max(highest, height) : height;
      measuredWidth = width;
      setHeight(Math.min(Math.ceil(highest) + 2, maxHeight));
    };
    measure();
    observer.current?.disconnect();
    observer.current = new ResizeObserver(measure);
    observer.current.observe(inside.documentElement);
  }

  const query = new URLSearchParams({
    ...(isRemote && { images: "remote" }),
    ...(hidesQuotes && { quotes: "hidden" }),
  });
  const page = apiHref(`v1/messages/${encodeURIComponent(message.id)}/html${query.size === 0 ? "" : `?${query}`}`);
  // A mail of text has no colours of its own, so it has those of the page.
  const isText = message.bodyHtml === null;
  return (
    <>
      <div class={isText ? "paper is-text" : isDark ? "paper is-dark" : "paper"}>
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
        {children}
        {pictures > 0 && !isRemote && (
          <button type="button" class="link" onClick={() => setIsRemote(true)}>
            Show remote images ({pictures})
          </button>
        )}
        {!isText && (
          <button type="button" class="link" aria-pressed={isDark} onClick={() => setIsDark(!isDark)}>
            {isDark ? "Show on white" : "Show on dark"}
          </button>
        )}
      </div>
    </>
  );
}
