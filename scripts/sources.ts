import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The root of the repository. */
export const house = join(import.meta.dir, "..");

/** All files in a folder of the repository and below it, by their paths from its root, without installed packages. */
export function filesIn(folder: string): string[] {
  return readdirSync(join(house, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return entry.name === "node_modules" ? [] : filesIn(path);
  });
}

/** The sources in these folders. */
export function sourcesIn(folders: readonly string[]): string[] {
  return folders.flatMap(filesIn).filter((path) => /\.tsx?$/.test(path));
}
