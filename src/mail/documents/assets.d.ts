/** A file that is part of the compiled program. The import is its path. */
declare module "*/pdf-cmaps.zip" {
  const path: string;
  export default path;
}
