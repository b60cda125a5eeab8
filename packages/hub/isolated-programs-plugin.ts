/**
 * A plugin for bundlers: `signalbox:isolated-programs` is the bundle of flows/sandbox/isolated-programs.ts, as
 * a string. QuickJS runs this script.
 */
import { build } from "tsdown";

const MODULE = "signalbox:isolated-programs";

export async function bundleIsolatedPrograms(): Promise<string> {
  const [bundle] = await build({
    cwd: import.meta.dirname,
    config: false,
    entry: "src/flows/sandbox/isolated-programs.ts",
    platform: "neutral",
    format: "iife",
    target: "es2023",
    minify: true,
    write: false,
    // By default, a build empties its output folder, even if it writes nothing.
    clean: false,
    dts: false,
    report: false,
    logLevel: "error",
    deps: { alwaysBundle: [/./] },
    inputOptions: { resolve: { mainFields: ["module", "main"], conditionNames: ["import"] } },
  });
  const [chunk] = bundle?.chunks ?? [];
  if (chunk?.type !== "chunk") throw new Error("The bundle of the isolated programs is empty.");
  return chunk.code;
}

export const isolatedPrograms = () => ({
  name: "isolated-programs",
  resolveId: (source: string) => (source === MODULE ? `\0${MODULE}` : null),
  load: async (id: string) =>
    id === `\0${MODULE}`
      ? `export default ${JSON.stringify(await bundleIsolatedPrograms())};`
      : null,
});
