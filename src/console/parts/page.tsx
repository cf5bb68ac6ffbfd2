import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageProps {
  title: string;
  /** One line beneath the title. */
  about?: ComponentChildren;
  /** Buttons beside the title. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** A screen with a title, an optional line and buttons, and its content. */
export function Page({ title, about, actions, children }: PageProps) {
  useTitle(title);
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {about !== undefined && <p class="about">{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · inboxd`;
  }, [title]);
}
