import { loadSettings } from "../../hub/src/hosts/node/load-settings.ts";
import { assertNoMoreArguments, type Command, print } from "./command.ts";
import { connectToHub } from "./hub-client.ts";

export const open: Command = {
  name: "open",
  usage: "[options]",
  summary: "print a link that signs you in to the web UI",
  details:
    "The link is valid once, for 10 minutes. The session has the same access as the token of the command. It ends after 30 days, or when that token is revoked.",
  options: { json: { type: "boolean", help: "print JSON" } },
  settings: ["url", "token", "data", "host", "port"],
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const hub = connectToHub(loadSettings(flags));
    const link = await hub.post("/api/session/links");
    print(flags.json ? JSON.stringify(link) : link.url);
  },
};
