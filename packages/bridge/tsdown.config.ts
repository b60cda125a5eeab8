import { defineConfig } from "tsdown";

export default defineConfig({
  entry: { "run-bridge": "src/run-bridge.ts" },
  format: "esm",
  platform: "node",
  target: "node22",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // As in the hub: files are replaced, not removed, while a bridge may be starting.
  clean: false,
  outputOptions: { chunkFileNames: "[name].js" },
});
