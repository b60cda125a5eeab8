/** The build bundles these programs: see isolated-programs-plugin.ts. */
declare module "signalbox:isolated-programs" {
  const script: string;
  export default script;
}
