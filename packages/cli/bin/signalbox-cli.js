#!/usr/bin/env node
// Plain JavaScript, and in the repository: npm links it at install, when nothing is built yet, and
// it must run on a Node that is too old for the rest.
import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const built = new URL("../dist/main.js", import.meta.url);

if (major < 22 || (major === 22 && minor < 15))
  refuse(`needs Node 22.15 or newer, this is ${process.versions.node}.`);
else if (!existsSync(built)) refuse("the package is not built: run `npm run build` first.");
else await import(built.href);

/** @param {string} message */
function refuse(message) {
  process.stderr.write(`signalbox-cli: ${message}\n`);
  process.exitCode = 2;
}
