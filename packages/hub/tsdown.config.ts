import { defineConfig } from "tsdown";

export default defineConfig({
  // The sandbox starts its threads from a separate file.
  entry: { cli: "src/hosts/cli.ts", "sandbox-worker": "src/hosts/node/sandbox-worker.ts" },
  format: "esm",
  platform: "node",
  target: "node22",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // Files are replaced under the same names, so that a hub that starts during a build finds them.
  clean: false,
  outputOptions: { chunkFileNames: "[name].js" },
});
