/** Packs the bridge into dist/signalbox.mcpb, a bundle that Claude Desktop installs. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { strToU8, zipSync } from "fflate";
import { build } from "tsdown";
import { LICENSES_FILE, thirdPartyLicenses } from "../../../scripts/build/third-party-licenses.ts";

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const [target = at("dist/signalbox.mcpb")] = process.argv.slice(2);
const bundle = at("dist/mcpb");

// Dependencies are bundled, because `npm install` does not run in an unpacked bundle.
await build({
  config: false,
  cwd: at("."),
  entry: { index: "src/main.ts" },
  outDir: bundle,
  format: "esm",
  platform: "node",
  target: "node18.17",
  fixedExtension: false,
  dts: false,
  logLevel: "error",
  noExternal: [/./],
  outputOptions: { codeSplitting: false },
  plugins: [thirdPartyLicenses()],
});

const { version, engines } = JSON.parse(readFileSync(at("package.json"), "utf8"));
const manifest = JSON.parse(readFileSync(at("manifest.json"), "utf8"));
const compatibility = { runtimes: { node: engines.node } };
const packed = zipSync({
  "manifest.json": strToU8(`${JSON.stringify({ ...manifest, version, compatibility }, null, 2)}\n`),
  // The bundle is an ES module and needs a package.json that declares it.
  "package.json": strToU8('{ "type": "module" }\n'),
  "server/index.js": readFileSync(`${bundle}/index.js`),
  [LICENSES_FILE]: readFileSync(`${bundle}/${LICENSES_FILE}`),
});
mkdirSync(at("dist"), { recursive: true });
writeFileSync(target, packed);
process.stdout.write(`${target} (${Math.round(packed.length / 1024)} KiB)\n`);
