/** A page of the documentation, imported as text. */
declare module "*.md" {
  const text: string;
  export default text;
}
