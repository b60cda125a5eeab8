/** A server process of restart.test.ts: `node restart.fixture.ts FILE [CALLBACK_URL ID…]`. */
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
for (const id of ids) await triggers.notify("c", "tick", {}, { id });
console.log("stored");
// The process lives until it is killed, or until its parent closes the stream.
process.stdin.resume().on("end", async () => {
  await triggers.close();
  process.exit();
});
