import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "../../scripts/build/third-party-licenses.ts";

export default defineConfig({
  entry: { main: "src/main.ts" },
  format: "esm",
  platform: "node",
  target: "node22",
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // As in the hub: files are replaced, not removed, while a command may be starting.
  clean: false,
  // The package has no dependencies: it installs one archive, without native parts.
  deps: { alwaysBundle: [/./] },
  // The sources of the bridge, which may not be built yet.
  inputOptions: { resolve: { conditionNames: ["@signalbox/source", "node", "import"] } },
  outputOptions: { chunkFileNames: "[name].js" },
  plugins: [thirdPartyLicenses()],
});
