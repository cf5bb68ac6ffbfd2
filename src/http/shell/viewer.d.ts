/** The script of the viewer, imported as a file: its path, on disk or inside the binary. */
declare module "rapidoc/dist/rapidoc-min.js" {
  const path: string;
  export default path;
}
