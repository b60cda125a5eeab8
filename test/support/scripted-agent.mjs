/**
 * An agent for `signalbox exec`: node scripted-agent.mjs FOLDER [MODE]. It appends a line to FOLDER/log when
 * it starts and when it finishes. Modes: `ok`, `fail` (exits with an error), `gate` (waits until the file
 * FOLDER/open exists).
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [folder, mode = "ok"] = process.argv.slice(2);
const event = JSON.parse(readFileSync(0, "utf8"));
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name.startsWith("SIGNALBOX_")),
);
const log = (what) => {
  const entry = { what, id: event.id, attempt: Number(env.SIGNALBOX_ATTEMPT), pid: process.pid };
  appendFileSync(join(folder, "log"), `${JSON.stringify({ ...entry, event, env })}\n`);
};

log("started");
console.error("thinking");
if (mode === "fail") {
  console.error("no luck today");
  process.exit(3);
}
while (mode === "gate" && !existsSync(join(folder, "open"))) await sleep(20);
log("finished");
console.log(`Triaged ${env.SIGNALBOX_EVENT_REPO}#${env.SIGNALBOX_EVENT_NUMBER}`);
console.log(`\u001b[32m${event.payload.issue.title}: done\u001b[0m\n`);
