import { copyFile, mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { defineConfig } from "tsdown";
import { thirdPartyLicenses } from "../../scripts/build/third-party-licenses.ts";
import { isolatedPrograms } from "./isolated-programs-plugin.ts";

const QUICKJS = "@jitl/quickjs-wasmfile-release-sync/wasm";
const WORKER = "dist/worker";

const shared = {
  format: "esm" as const,
  fixedExtension: false,
  sourcemap: true,
  dts: false,
  // Files are replaced under the same names, so that a hub that starts during a build finds them.
  clean: false,
};

export default defineConfig([
  {
    ...shared,
    // The hub starts its worker processes from a separate file.
    entry: { cli: "src/hosts/cli.ts", "job-worker": "src/hosts/node/job-worker.ts" },
    platform: "node",
    target: "node22",
    outputOptions: { chunkFileNames: "[name].js" },
    plugins: [thirdPartyLicenses()],
  },
  {
    ...shared,
    // The Worker, with all dependencies in one module.
    entry: { index: "src/hosts/cloudflare/worker.ts" },
    outDir: WORKER,
    sourcemap: false,
    platform: "browser",
    target: "es2024",
    minify: true,
    deps: { alwaysBundle: [/./], neverBundle: [/^cloudflare:/] },
    inputOptions: { resolve: { conditionNames: ["workerd", "worker", "browser", "import"] } },
    outputOptions: { codeSplitting: false },
    plugins: [
      thirdPartyLicenses(),
      isolatedPrograms(),
      {
        // workerd loads WebAssembly only as a module of its own.
        name: "quickjs-module",
        resolveId: {
          order: "pre",
          handler: (source) =>
            source === QUICKJS ? { id: "./quickjs.wasm", external: true } : null,
        },
        async writeBundle() {
          await mkdir(WORKER, { recursive: true });
          await copyFile(createRequire(import.meta.url).resolve(QUICKJS), `${WORKER}/quickjs.wasm`);
        },
      },
    ],
  },
]);
