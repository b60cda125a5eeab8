#!/usr/bin/env node
// Plain JavaScript in the repository, because `npm install` links it before the build.
import { existsSync } from "node:fs";

const built = new URL("../dist/run-bridge.js", import.meta.url);

if (existsSync(built)) {
  const { runBridge } = await import(built.href);
  await runBridge();
} else {
  process.stderr.write("signalbox-bridge: the package is not built: run `npm run build` first.\n");
  process.exitCode = 2;
}
