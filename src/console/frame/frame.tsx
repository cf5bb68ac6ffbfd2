import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { href, route } from "../address.ts";
import { Icon, Mark } from "../parts/icon.tsx";
import { GoTo } from "./go-to.tsx";
import { Help } from "./help.tsx";
import { useShortcuts } from "./keyboard.ts";
import { Navigation } from "./navigation.tsx";
import { Notice } from "./notice.tsx";
import { Screen } from "./screen.tsx";

const isMenuOpen = signal(false);

/** The frame around every screen: bar, navigation, notices and help. */
export function Frame() {
  useShortcuts();
  const main = useRef<HTMLElement>(null);
  const path = route.value.path;
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
    if (main.current !== null) main.current.scrollTop = 0;
  }, [path]);
  useEffect(
    () =>
      effect(() => {
        if (route.value) isMenuOpen.value = false;
      }),
    [],
  );

  return (
    <div class={isMenuOpen.value ? "frame menu-open" : "frame"}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <button
          type="button"
          class="quiet menu-button"
          aria-label="Menu"
          aria-expanded={isMenuOpen.value}
          aria-controls="navigation"
          onClick={() => {
            isMenuOpen.value = !isMenuOpen.value;
          }}
        >
          <Icon name={isMenuOpen.value ? "close" : "menu"} />
        </button>
        <a class="brand" href={href("")}>
          <Mark />
          inboxd
        </a>
      </header>
      <Navigation />
      <main id="main" tabIndex={-1} ref={main}>
        <Screen />
      </main>
      <Notice />
      <Help />
      <GoTo />
    </div>
  );
}
