import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { loadClientSettings, localUrl } from "./settings.ts";

it.each([
  ["127.0.0.1", "http://127.0.0.1:4747"],
  ["localhost", "http://localhost:4747"],
  ["::1", "http://[::1]:4747"],
  ["0.0.0.0", "http://127.0.0.1:4747"],
  ["::", "http://127.0.0.1:4747"],
  ["0:0:0:0:0:0:0:0", "http://127.0.0.1:4747"],
])("host %s has the local URL %s", (host, url) => {
  expect(localUrl({ host, port: 4747 })).toBe(url);
});

it("reads the settings of commands, and ignores those of a hub in the same file", () => {
  const [former, folder] = [process.cwd(), tempFolder()];
  onTestFinished(() => {
    process.chdir(former);
    vi.unstubAllEnvs();
  });
  process.chdir(folder);
  const write = (file: object) =>
    writeFileSync(join(folder, "signalbox.config.json"), JSON.stringify(file));
  write({ url: "https://hub.example", port: 5000, tenancy: "github", secrets: { github: "s" } });
  vi.stubEnv("SIGNALBOX_TOKEN", "sbx_given");
  const { origins, ...settings } = loadClientSettings({ port: "6000" });
  expect(settings).toEqual({
    url: "https://hub.example",
    token: "sbx_given",
    data: ".signalbox",
    host: "127.0.0.1",
    port: 6000,
  });
  expect(origins.find(({ name }) => name === "url")?.from).toBe("file");
  write({ url: "hub" });
  expect(() => loadClientSettings({})).toThrow(
    '"url" in signalbox.config.json must be an http(s) URL, but is "hub".',
  );
});
