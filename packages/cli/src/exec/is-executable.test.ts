import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { isExecutable } from "./is-executable.ts";

it("returns true only for the path of an executable file, or its name in PATH", () => {
  const folder = tempFolder();
  writeFileSync(join(folder, "agent"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(folder, "notes"), "", { mode: 0o644 });
  const path = ["/nowhere", folder].join(delimiter);
  expect(isExecutable("agent", path)).toBe(true);
  expect(isExecutable(join(folder, "agent"), "")).toBe(true);
  for (const name of ["notes", "missing", "", "/", `${folder}/missing`])
    expect(isExecutable(name, path), name).toBe(false);
});
