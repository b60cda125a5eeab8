/** A thread of the sandbox. It evaluates one program at a time; the pool terminates it on overrun. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { parentPort } from "node:worker_threads";
import type { SerializedEvaluation } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateSerialized } from "../../sandbox/evaluators.ts";
import type { JavaScriptHost } from "../../sandbox/run-javascript.ts";
import { READY } from "../../sandbox/thread-pool.ts";

/** TypeScript declares WebAssembly only for the DOM. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

const path = createRequire(import.meta.url).resolve("@jitl/quickjs-wasmfile-release-sync/wasm");
const host: JavaScriptHost = { engine: await WebAssembly.compile(await readFile(path)) };

parentPort?.on("message", async (evaluation: SerializedEvaluation) =>
  parentPort?.postMessage(await evaluateSerialized(evaluation, host)),
);
parentPort?.postMessage(READY);
