/** A worker process of the sandbox. It evaluates programs one by one; the pool kills it at the deadline. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { evaluateSerialized } from "../../sandbox/evaluators.ts";
import type { JavaScriptHost } from "../../sandbox/run-javascript.ts";
import { READY } from "../../sandbox/worker-pool.ts";
import { createPieceJoiner, type SandboxMessage } from "./sandbox-pieces.ts";

/** TypeScript declares WebAssembly only for the DOM. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

process.once("disconnect", () => process.exit());
// An endless program blocks this thread, so another thread checks whether the hub has exited.
new Worker(
  `setInterval(() => {
    if (process.ppid !== ${process.ppid}) process.kill(process.pid, "SIGKILL");
  }, 1000);`,
  { eval: true, resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 } },
).unref();

const enginePath = createRequire(import.meta.url).resolve(
  "@jitl/quickjs-wasmfile-release-sync/wasm",
);
const host: JavaScriptHost = { engine: await WebAssembly.compile(await readFile(enginePath)) };

const joinPieces = createPieceJoiner();
process.on("message", async (message: SandboxMessage) => {
  const results = [];
  for (const evaluation of joinPieces(message))
    results.push(await evaluateSerialized(evaluation, host));
  // All at the end: the hub then continues all runs of the batch together, and they share a commit.
  for (const result of results) process.send?.(result);
});
process.send?.(READY);
