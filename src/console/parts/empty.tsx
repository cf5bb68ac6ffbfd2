import type { ComponentChildren } from "preact";
import { Command } from "./command.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
  /** A shell command that fills the list, or reads it. */
  command?: string;
}

/** Explains an empty list: what will appear in it, and how. */
export function Empty({ icon, title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children}
      {command !== undefined && <Command line={command} />}
    </div>
  );
}
