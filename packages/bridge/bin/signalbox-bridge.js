#!/usr/bin/env node
// Plain JavaScript, and in the repository: npm links it at install, when nothing is built yet, and
// it must run on a Node that is too old for the rest.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const built = new URL("../dist/run-bridge.js", import.meta.url);

if (major < 18 || (major === 18 && minor < 17))
  refuse(`needs Node 18.17 or newer, this is ${process.versions.node}. ${newerNode()}`, 1);
else if (!existsSync(built)) refuse("the package is not built: run `npm run build` first.", 2);
else import(built.href).then(({ runBridge }) => runBridge(process.argv.slice(2)));

function newerNode() {
  const pinned = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
  const path = existsSync(pinned) ? pinned : "the path of a newer one";
  return `Where your MCP client starts the bridge with "node", write ${path}.`;
}

/** @param {string} message @param {number} code */
function refuse(message, code) {
  process.stderr.write(`signalbox-bridge: ${message}\n`);
  process.exitCode = code;
}
