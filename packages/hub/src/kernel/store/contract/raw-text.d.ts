/** Vite imports the text of such a file. */
declare module "*.sql?raw" {
  const text: string;
  export default text;
}
