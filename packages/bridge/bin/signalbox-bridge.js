#!/usr/bin/env node
// Plain JavaScript, and in the repository: npm links it at install, when nothing is built yet.
import { existsSync } from "node:fs";

const built = new URL("../dist/run-bridge.js", import.meta.url);

if (existsSync(built)) {
  const { runBridge } = await import(built.href);
  await runBridge();
} else {
  process.stderr.write("signalbox-bridge: it is not built: run `npm run build` first.\n");
  process.exitCode = 2;
}
