#!/usr/bin/env node
// Plain JavaScript, and in the repository: npm links it at install, when nothing is built yet, and
// it must run on a Node that is too old for the rest.
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const built = new URL("../dist/main.js", import.meta.url);
// In the package's own folder: only users who may change the program may write code into its cache.
const compileCache = new URL("../.compile-cache", import.meta.url);

if (major < 22 || (major === 22 && minor < 15))
  refuse(`needs Node 22.15 or newer, this is ${process.versions.node}.`);
else if (!existsSync(built)) refuse("the package is not built: run `npm run build` first.");
else {
  // Without write access to the folder, Node starts without the cache.
  module.enableCompileCache(fileURLToPath(compileCache));
  await import(built.href);
}

/** @param {string} message */
function refuse(message) {
  process.stderr.write(`signalbox-cli: ${message}\n`);
  process.exitCode = 2;
}
