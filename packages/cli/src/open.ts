import { assertNoMoreArguments, type Command, print } from "./command.ts";
import { connectToHub } from "./hub-client.ts";
import type { OpenSession } from "./with-hub.ts";

export const createOpen = (openSession: OpenSession): Command => ({
  name: "open",
  usage: "[options]",
  summary: "print a link that signs you in to the web UI",
  details:
    "The link is valid once, for 10 minutes. The session has the same access as the token of the command. It ends after 30 days, or when that token is revoked.",
  options: { json: { type: "boolean", help: "print JSON" } },
  settings: ["url", "token", "data", "host", "port"],
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const hub = connectToHub(openSession(flags).settings);
    const link = await hub.post("/api/session/links");
    print(flags.json ? JSON.stringify(link) : link.url);
  },
});
