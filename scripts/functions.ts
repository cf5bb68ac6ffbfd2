import type { Node } from "typescript/unstable/ast";
import { isFunctionLikeDeclaration } from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/async";

export interface FoundFunction {
  file: string;
  /** Its first line, which usually contains its name. */
  head: string;
  lines: number;
}

/** Every function in the files, nested ones too, as the project's compiler reads them. */
export async function functionsOf(project: string, files: readonly string[]): Promise<FoundFunction[]> {
  // The synchronous form of this API reads a handle that Bun does not have.
  const compiler = new API();
  try {
    const snapshot = await compiler.updateSnapshot({ openProjects: [project] });
    const program = snapshot.getProject(project)?.program;
    const found = files.map(async (file) => {
      const source = await program?.getSourceFile(file);
      if (source === undefined) throw new Error(`Cannot read ${file}: it is not of the project`);
      return functionsIn(source).map((node) => {
        const start = node.getStart(source);
        const lines = source.text.slice(start, node.end).split("\n").length;
        const [head = ""] = source.text.slice(source.text.lastIndexOf("\n", start) + 1).split("\n", 1);
        return { file, head: head.trim(), lines };
      });
    });
    return (await Promise.all(found)).flat();
  } finally {
    await compiler.close();
  }
}

function functionsIn(node: Node): Node[] {
  const found: Node[] = isFunctionLikeDeclaration(node) ? [node] : [];
  node.forEachChild((child) => {
    found.push(...functionsIn(child));
  });
  return found;
}
