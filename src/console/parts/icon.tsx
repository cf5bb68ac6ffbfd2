const drawings = {
  overview: "M3 12h4l2.5-7 5 14 2.5-7h4",
  inboxes: "M3 13 6 5h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5",
  compose: "M4 20l4.5-1L19 8.5 15.5 5 5 15.5zM13.5 7l3.5 3.5",
  outbox: "M4 12 20 5l-5 15-3.5-6.5zM11.5 13.5 20 5",
  events: "M4 6h16M4 12h16M4 18h10",
  webhooks: "M8 8 4 12l4 4M16 8l4 4-4 4M13.5 6l-3 12",
  suppressions: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M5.6 5.6l12.8 12.8",
  quarantine: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 9.5l6 5M15 9.5l-6 5",
  rules: "M4 5h16l-6 7.5V19l-4 2v-8.5z",
  usage: "M5 20V12M12 20V5M19 20v-9M3 20h18",
  audit: "M6 3h9l4 4v14H6zM9.5 11h6M9.5 15h6M14.5 3v4.5H19",
  domains: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c5.5 5.5 5.5 12.5 0 18M12 3c-5.5 5.5-5.5 12.5 0 18",
  keys: "M15 4.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M11.8 12.2 4 20M6.5 17.5 9 20",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5 20 20",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  back: "M14 6l-6 6 6 6",
  more: "M10 6l6 6-6 6",
  attachment: "M19 11l-7.5 7.5a4.5 4.5 0 0 1-6.4-6.4L13 4.3a3 3 0 0 1 4.2 4.2l-7.8 7.8a1.5 1.5 0 0 1-2.1-2.1L14 7.5",
  reply: "M9 6 4 11l5 5M4 11h9a7 7 0 0 1 7 7v1",
  light:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.5v.5",
  leave: "M14 4H5v16h9M10 12h10M16 8l4 4-4 4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 12.5l4.5 4.5L19 7",
  again: "M19 8a8 8 0 1 0 1 6M20 4v4.5h-4.5",
  settings: "M4 7h9M17 7h3M13 4.5v5M4 17h3M11 17h9M7 14.5v5",
  remove: "M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13",
  in: "M12 4v13M6 11l6 6 6-6",
  out: "M12 20V7M6 13l6-6 6 6",
} as const;

export type IconName = keyof typeof drawings;

/** An icon. It is only decoration, so screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={drawings[name]} />
    </svg>
  );
}

/** The logo: an envelope. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M7 10.5h18v11H7zl9 7 9-7" />
    </svg>
  );
}
