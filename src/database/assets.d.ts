/** Files that are part of the compiled program. The import is the path of the file. */
declare module "*.tar.zst" {
  const path: string;
  export default path;
}
declare module "*/pglite.data" {
  const path: string;
  export default path;
}
declare module "*/pglite.wasm" {
  const path: string;
  export default path;
}
/** Migrations, imported as text into the compiled program. */
declare module "*.sql" {
  const text: string;
  export default text;
}
