/** The hub asks GitHub to redeliver the webhooks that failed while the hub was down. */
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN } from "../support/api-client.ts";
import { startFakeGithub } from "../support/fake-github.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { createTokenByCli, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const issue = (number: number) => ({
  action: "opened",
  issue: { number, title: `Issue ${number}` },
  repository: { id: 1, full_name: "acme/web", owner: { id: 2, login: "acme" } },
});

/** Starts a fake GitHub, and prepares a hub, which `start` starts. */
async function setUp(startProcess: typeof startHubProcess) {
  const github = await startFakeGithub();
  onTestFinished(() => github.close());
  const PORT = await fixedPort();
  const data = tempFolder();
  const env = { ...github.env, PORT, SIGNALBOX_TOKEN: ADMIN };
  const start = async () => {
    const hub = await startProcess({ data, env });
    onTestFinished(async () => void (await hub.stop("SIGKILL")));
    return hub;
  };
  return { github, url: `http://127.0.0.1:${PORT}`, data, env, start };
}

it.each([
  ["SQLite", startHubProcess],
  ["workerd", startWorkerProcess],
] as const)(
  "the hub stores each webhook that failed while it was down exactly once, on %s",
  async (host, startProcess) => {
    const { github, url, data, env, start } = await setUp(startProcess);
    github.webhook.url = `${url}/webhooks/github`;
    const get = async (path: string) => {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${ADMIN}` },
      });
      expect(response.status).toBe(200);
      return response;
    };
    const readRedeliveries = async () =>
      (await (await get("/api/github/redeliveries")).json()) as {
        sweep: { completed_at: string | null; error: string | null };
        counts: unknown;
        items: { status: string; requests: number }[];
      };
    const readTitles = async () =>
      ((await (await get("/api/events?limit=100")).json()) as { items: { title: string }[] }).items
        .map(({ title }) => title)
        .toSorted();
    const countRequests = () =>
      github.requests.filter((request) => /attempts$/.test(request)).length;

    const first = await start();
    expect((await github.sendWebhook("issues", issue(1))).statusCode).toBeLessThan(300);
    // A sweep that is killed keeps its lease for a minute, which would delay the next sweep.
    await vi.waitFor(
      async () => expect((await readRedeliveries()).sweep.completed_at).toBeTruthy(),
      WAIT,
    );
    const firstSweep = (await readRedeliveries()).sweep.completed_at;
    await first.stop("SIGKILL");
    for (const number of [2, 3, 4]) {
      const { status } = await github.sendWebhook("issues", issue(number));
      expect(status).toBe("failed to connect to host");
    }

    const second = await start();
    // A Durable Object starts only with a request.
    await readTitles();
    await vi.waitFor(() => expect(countRequests()).toBe(3), WAIT);
    await github.settled();
    const allTitles = ["Issue 1", "Issue 2", "Issue 3", "Issue 4"];
    expect(await readTitles()).toEqual(allTitles);
    await vi.waitFor(
      async () => expect((await readRedeliveries()).sweep.completed_at).not.toBe(firstSweep),
      WAIT,
    );
    expect((await readRedeliveries()).items).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: "failed to connect to host", requests: 1 })),
    );
    expect(await (await get("/metrics")).text()).toContain(
      'signalbox_github_redeliveries_total{outcome="requested"} 3\n',
    );
    const remote = await runCli(["doctor", "--url", url], { cwd: tempFolder(), env });
    expect(remote.stdout).toMatch(/✓ redelivery +failed webhooks were checked \d+ min ago; 3 open/);
    if (host === "SQLite") {
      const doctor = await runCli(["doctor"], { env: { ...env, SIGNALBOX_DATA: data } });
      expect(doctor.stdout).toMatch(
        /✓ github app +GitHub accepts the id and the key of the App Test/,
      );
      expect(doctor.stdout).toMatch(
        /✓ redelivery +failed webhooks were checked \d+ min ago; 3 open/,
      );
    }

    // The next sweep finds that the redeliveries succeeded, and requests no others.
    await second.stop();
    await start();
    await vi.waitFor(
      async () =>
        expect((await readRedeliveries()).counts).toEqual({ open: 0, given_up: 0, delivered: 3 }),
      WAIT,
    );
    expect(countRequests()).toBe(3);
    expect(await readTitles()).toEqual(allTitles);
  },
);

it.each([
  ["SQLite", startHubProcess],
  ["workerd", startWorkerProcess],
] as const)(
  "the hub requests a redelivery again when an operator retries it, on %s",
  async (_, startProcess) => {
    const { github, url, data, env, start } = await setUp(startProcess);
    // GitHub sends webhooks to a port at which no server listens.
    github.webhook.url = `http://127.0.0.1:${await fixedPort()}/webhooks/github`;
    const { guid } = await github.sendWebhook("issues", issue(1));
    await start();
    const call = async (path: string, method = "GET", token = ADMIN) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, connection: "close" },
      });
      // biome-ignore lint/suspicious/noExplicitAny: responses of several shapes
      return { status: response.status, json: (await response.json()) as any };
    };
    const readFirst = async () => (await call("/api/github/redeliveries")).json.items[0];
    await vi.waitFor(
      async () => expect(await readFirst()).toMatchObject({ guid, requests: 1, can_retry: true }),
      WAIT,
    );
    await github.settled();
    const readCompletedAt = async () =>
      (await call("/api/github/redeliveries")).json.sweep.completed_at;
    await vi.waitFor(async () => expect(await readCompletedAt()).toBeTruthy(), WAIT);
    github.webhook.url = `${url}/webhooks/github`;

    const path = `/api/github/redeliveries/${guid}/retry`;
    // This token has the scope `admin`, but it is valid for one tenant only.
    const tenantAdmin = await createTokenByCli(
      { ...env, SIGNALBOX_DATA: data, SIGNALBOX_URL: url },
      "--scope",
      "admin",
    );
    expect(await call(path, "POST", tenantAdmin.token)).toMatchObject({ status: 403 });
    expect(await call("/api/github/redeliveries/none/retry", "POST")).toMatchObject({
      status: 404,
    });
    expect(await call(path, "POST")).toMatchObject({ status: 202, json: { state: "open", guid } });
    const readTitles = async () =>
      (await call("/api/events")).json.items.map(({ title }: { title: string }) => title);
    await vi.waitFor(async () => expect(await readTitles()).toEqual(["Issue 1"]), WAIT);
  },
);
