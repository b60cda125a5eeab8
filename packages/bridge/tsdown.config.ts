import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "../../scripts/build/third-party-licenses.ts";

const shared = {
  // The CLI of the hub parses streams too.
  entry: { "run-bridge": "src/run-bridge.ts", "sse-parser": "src/sse-parser.ts" },
  format: "esm" as const,
  platform: "node" as const,
  target: "node18.17",
  fixedExtension: false,
  // As in the hub: files are replaced, not removed, while a bridge may be starting.
  clean: false,
};

export default defineConfig([
  {
    ...shared,
    sourcemap: true,
    dts: false,
    outputOptions: { chunkFileNames: "[name].js" },
    plugins: [thirdPartyLicenses()],
  },
  // Declarations have no source maps, because the package does not contain the sources. As in the SDK for
  // triggers, Oxc generates them.
  { ...shared, dts: { oxc: true, emitDtsOnly: true } },
]);
