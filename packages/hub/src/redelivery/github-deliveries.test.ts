import { expect, it, onTestFinished } from "vitest";
import { startFakeGithub } from "../../../../test/support/fake-github.ts";
import { createGithubApp } from "../github/github-app.ts";
import { createGithubDeliveries } from "./github-deliveries.ts";

it("lists all pages by their cursors, with exact ids, and redelivers by id", async () => {
  const github = await startFakeGithub();
  onTestFinished(() => github.close());
  const { apiUrl } = github;
  const { call } = await createGithubApp(github.app, { apiUrl, fetch, now: Date.now });
  const deliveries = createGithubDeliveries(call);
  github.webhook.url = "http://127.0.0.1:1/nothing-listens";
  for (let at = 0; at < 101; at += 1)
    await github.sendWebhook("issues", { action: "opened", installation: { id: 7 } });
  const first = await deliveries.list();
  if (first.outcome !== "ok") throw new Error(first.outcome);
  expect(first.value).toHaveLength(100);
  const second = await deliveries.list(first.next ?? "");
  if (second.outcome !== "ok") throw new Error(second.outcome);
  expect(second.next).toBeNull();
  const oldest = github.attempts[0];
  expect(second.value).toEqual([
    {
      id: String(oldest?.id),
      guid: oldest?.guid,
      deliveredAt: oldest?.deliveredAt,
      isRedelivery: false,
      status: "failed to connect to host",
      statusCode: 0,
      event: "issues",
      action: "opened",
      installation: "7",
    },
  ]);

  expect(await deliveries.redeliver(String(oldest?.id))).toMatchObject({ outcome: "ok" });
  await github.settled();
  expect(github.attempts).toHaveLength(102);
  expect(github.attempts.at(-1)).toMatchObject({ guid: oldest?.guid, redelivery: true });
  expect(await deliveries.redeliver("1")).toEqual({ outcome: "not_found" });
});
