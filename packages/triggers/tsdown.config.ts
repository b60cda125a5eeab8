import { defineConfig } from "tsdown";

export default defineConfig({
  entry: { index: "src/index.ts", node: "src/node.ts", testing: "src/testing.ts" },
  format: "esm",
  // The entry "index" runs in Workers too. Only "node" and "testing" import modules of Node.
  platform: "neutral",
  target: "es2023",
  fixedExtension: false,
  sourcemap: false,
  // Oxc generates the declarations, because TypeScript 7 has no API for other tools.
  dts: { oxc: true },
  // Files are replaced, not removed first, because a process may be importing them.
  clean: false,
  outputOptions: { chunkFileNames: "[name].js" },
});
