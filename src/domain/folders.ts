/** The folders of threads. An unread thread is always in `inbox`, so that filing never hides work (contract §7.3). */
export const folders = ["inbox", "archive", "trash"] as const;

export type Folder = (typeof folders)[number];
