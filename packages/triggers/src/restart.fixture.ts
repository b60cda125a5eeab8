/**
 * The server process of restart.test.ts: `node restart.fixture.ts FILE [CALLBACK_URL ID…]`. It sends an
 * event for each ID, and prints the ids of events that are stored. For an ID such as `evt-*`, it sends
 * the events `evt-0`, `evt-1` and so on, until it is killed.
 */
import { createTriggers } from "./index.ts";
import { fileStorage } from "./node.ts";
import { configure, quickRetries } from "./test-support.ts";

const [file = "", callbackUrl, ...ids] = process.argv.slice(2);
const triggers = createTriggers({
  definitions: [{ type: "tick", description: "Now and then." }],
  storage: fileStorage(file),
  ...quickRetries,
});
if (callbackUrl) await configure(triggers, { type: "tick", callbackUrl, callbackToken: "t" });
console.log("started");
const notify = async (id: string) => {
  await triggers.notify("c", "tick", {}, { id });
  console.log(id);
};
// The process runs until it is killed, or until its parent closes stdin.
process.stdin.resume().on("end", async () => {
  await triggers.close();
  process.exit();
});
for (const id of ids) {
  if (!id.endsWith("*")) await notify(id);
  else for (let n = 0; ; n++) await notify(id.replace("*", String(n)));
}
