import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "../../scripts/build/third-party-licenses.ts";

export default defineConfig({
  // The CLI of the hub parses streams too.
  entry: { "run-bridge": "src/run-bridge.ts", "sse-parser": "src/sse-parser.ts" },
  format: "esm",
  platform: "node",
  target: "node18.17",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // As in the hub: files are replaced, not removed, while a bridge may be starting.
  clean: false,
  outputOptions: { chunkFileNames: "[name].js" },
  plugins: [thirdPartyLicenses()],
});
