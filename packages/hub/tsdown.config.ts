import { defineConfig } from "tsdown";

export default defineConfig({
  // The sandbox's thread is a program of its own.
  entry: { cli: "src/hosts/cli.ts", "sandbox-worker": "src/hosts/node/sandbox-worker.ts" },
  format: "esm",
  platform: "node",
  target: "node22",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // Files are replaced, not removed and named anew: a build must not pull them from under a hub
  // that is just starting.
  clean: false,
  outputOptions: { chunkFileNames: "[name].js" },
});
