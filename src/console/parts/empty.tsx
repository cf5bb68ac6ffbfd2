import type { ComponentChildren } from "preact";
import { Command } from "./command.tsx";
import { Icon, type IconName } from "./icon.tsx";

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
  /** How it is done from a shell. */
  command?: string;
}

/** Where there is nothing yet: what would be here, and how it comes here. */
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
