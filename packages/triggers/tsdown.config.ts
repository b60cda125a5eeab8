import { defineConfig } from "tsdown";

export default defineConfig({
  entry: { index: "src/index.ts", node: "src/node.ts", testing: "src/testing.ts" },
  format: "esm",
  // The root runs in Workers too: only the entries "node" and "testing" import Node's modules.
  platform: "neutral",
  target: "es2023",
  fixedExtension: false,
  sourcemap: false,
  // Declarations from the syntax alone: TypeScript 7 has no API for other tools.
  dts: { oxc: true },
  // As in the hub: files are replaced, not removed, while a process may be importing them.
  clean: false,
  outputOptions: { chunkFileNames: "[name].js" },
});
