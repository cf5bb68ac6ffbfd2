/** Files that the compiled program carries; the import gives the path where it finds them. */
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
/** Migrations are imported as text, so that a compiled program carries them. */
declare module "*.sql" {
  const text: string;
  export default text;
}
