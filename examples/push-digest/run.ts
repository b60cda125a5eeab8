/** Five pushes to one repository start one run, which emits one event. A push to another repository starts a second run. */
import assert from "node:assert/strict";
import { openHub, readFlow, waitFor } from "../hub.ts";

const hub = await openHub();
try {
  await hub.install("digest", readFlow(import.meta.url));

  const push = (repo: string, index: number) =>
    fetch(`${hub.url}/webhooks/github`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-github-event": "push",
        "x-github-delivery": `${repo}-${index}`,
      },
      body: JSON.stringify({
        ref: "refs/heads/main",
        head_commit: { id: "abc", message: `Commit ${index}` },
        repository: { full_name: repo },
        sender: { login: "octocat" },
      }),
    });
  for (let index = 0; index < 5; index += 1)
    assert.equal((await push("octo/town", index)).status, 202);
  assert.equal((await push("octo/lake", 0)).status, 202);

  const digests = await waitFor(async () => {
    const events = await hub.api<{ type: string; title: string }[]>(
      "GET",
      "/pending-events?type=push_digest",
    );
    return events.length === 2 ? events : undefined;
  });
  assert.deepEqual(digests.map(({ title }) => title).sort(), [
    "1 pushes to octo/lake",
    "5 pushes to octo/town",
  ]);
  const { items } = await hub.api<{ items: unknown[] }>("GET", "/api/runs");
  assert.equal(items.length, 2);
  console.log("✓ six pushes, two repositories, two events");
} finally {
  await hub.stop();
}
