import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { programOf } from "./program.ts";

function createFolders() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "program-")));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (folder: string, name = "signalbox") => {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, `${name}.js`), "");
    return join(root, folder, `${name}.js`);
  };
  const link = (file: string, folder: string, name = "signalbox") => {
    mkdirSync(join(root, folder), { recursive: true });
    symlinkSync(file, join(root, folder, name));
    return join(root, folder, name);
  };
  return { root, write, link };
}

it("calls the program with npx in a checkout, and else by its name or path", () => {
  const { root, write, link } = createFolders();
  const workspace = write("checkout/packages/hub/bin");
  const installed = write("opt/node_modules/signalbox/bin");
  expect(programOf(workspace, "")).toBe("npx signalbox");
  expect(programOf(link(workspace, "checkout/node_modules/.bin"), "")).toBe("npx signalbox");
  expect(programOf(process.argv[1] ?? "", "")).toBe("npx signalbox");
  expect(programOf(installed, "")).toBe(installed);
  const bin = link(installed, "opt/node_modules/.bin");
  expect(programOf(bin, join(root, "opt/node_modules/.bin"))).toBe(bin);
  const global = link(installed, "usr/bin");
  expect(programOf(global, `/bin:${join(root, "usr/bin")}`)).toBe("signalbox");
  expect(programOf(global, "/bin")).toBe(global);
  const spaced = write("my hub/node_modules/signalbox/bin");
  expect(programOf(spaced, "")).toBe(`'${spaced}'`);
});

it("calls the program without the hub by its own name", () => {
  const { root, write, link } = createFolders();
  const workspace = write("checkout/packages/cli/bin", "signalbox-cli");
  expect(programOf(workspace, "")).toBe("npx signalbox-cli");
  const installed = write("opt/node_modules/@signalbox/cli/bin", "signalbox-cli");
  const global = link(installed, "usr/bin", "signalbox-cli");
  expect(programOf(global, `/bin:${join(root, "usr/bin")}`)).toBe("signalbox-cli");
  expect(programOf(global, "/bin")).toBe(global);
});
