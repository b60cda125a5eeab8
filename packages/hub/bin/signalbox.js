#!/usr/bin/env -S node --max-semi-space-size=16
// Plain JavaScript, and in the repository: npm links it at install, when nothing is built yet, and
// it must run on a Node that is too old for the rest. The flag fixes V8's young generation: without
// it, the hub's memory grows with the load and stays so.
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const cli = new URL("../dist/cli.js", import.meta.url);
// In the package's own folder: only users who may change the program may write code into its cache.
const compileCache = new URL("../.compile-cache", import.meta.url);

// zstd came to node:zlib with 22.15.
if (major < 22 || (major === 22 && minor < 15))
  refuse(
    `Signalbox needs Node 22.15 or newer, this is ${process.versions.node}. ` +
      "Run `npx signalbox` in the checkout, which has its own Node, or install a newer Node.",
  );
else if (!existsSync(cli)) refuse("Signalbox is not built: run `npm run build` first.");
else {
  // Without write access to the folder, Node starts without the cache.
  module.enableCompileCache(fileURLToPath(compileCache));
  await import(cli.href);
}

/** @param {string} message */
function refuse(message) {
  process.stderr.write(`signalbox: ${message}\n`);
  process.exitCode = 2;
}
