/** The thread in which code of flows runs, one piece at a time. Its host ends it where it hangs. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import { READY, type SpelledEvaluation } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateHere } from "../../sandbox/evaluate-here.ts";
import type { JavaScriptHost } from "../../sandbox/run-javascript.ts";

/** TypeScript knows WebAssembly from the DOM only. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

/** Waiting for a processor does not count, where Node can tell. */
const cpuTime = (): number => {
  if (!process.threadCpuUsage) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const path = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
const host: JavaScriptHost = { engine: await WebAssembly.compile(await readFile(path)), cpuTime };

parentPort?.on("message", async (evaluation: SpelledEvaluation) =>
  parentPort?.postMessage(await evaluateHere(evaluation, host)),
);
parentPort?.postMessage(READY);
