/** The bridge as a program of its own, for the bundle. */
import { runBridge } from "./run-bridge.ts";

await runBridge();
