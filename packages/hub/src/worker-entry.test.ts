/**
 * The hub can run in a Worker, without Node. The tests bundle every module that a Worker may import,
 * with all dependencies, and check that none of them imports a Node builtin.
 */
import { globSync } from "node:fs";
import { isBuiltin } from "node:module";
import { relative } from "node:path";
import { build } from "tsdown";
import { expect, it } from "vitest";

const NODE_ONLY = [
  "hosts/cli.ts",
  "hosts/cli/**",
  "hosts/node/**",
  "kernel/backends/{postgres,sqlite,zstd}*.ts",
];

const root = import.meta.dirname;

/** Bundles like wrangler. `nodeImports` lists every import of a Node builtin as "importer → builtin". */
async function bundle(entry: readonly string[]) {
  const nodeImports = new Set<string>();
  const [bundled] = await build({
    cwd: root,
    config: false,
    entry: entry.map((file) => `./${file}`),
    platform: "browser",
    write: false,
    dts: false,
    report: false,
    logLevel: "error",
    deps: { alwaysBundle: [/./] },
    inputOptions: { resolve: { conditionNames: ["workerd", "worker", "browser", "import"] } },
    plugins: [
      {
        name: "node-imports",
        resolveId: {
          order: "pre",
          handler(source, importer = "") {
            if (/^(?:cloudflare|signalbox):|\/wasm$/.test(source))
              return { id: source, external: true };
            if (!isBuiltin(source)) return null;
            const from = importer.split("/node_modules/").at(-1) ?? "";
            nodeImports.add(`${from === importer ? relative(root, importer) : from} → ${source}`);
            return { id: source, external: true };
          },
        },
      },
    ],
  });
  return {
    nodeImports: [...nodeImports].sort(),
    dependencies: [...(bundled?.inlinedDeps.keys() ?? [])],
  };
}

it("imports no Node builtin outside of the Node host and backends", async () => {
  const files = globSync("**/*.ts", {
    cwd: root,
    exclude: [
      ...NODE_ONLY,
      "**/*.test.ts",
      "**/*.test-*.ts",
      "**/test-*.ts",
      "**/contract/**",
      "**/contract.ts",
      "**/*.contract.ts",
    ],
  });
  expect(files).toContain("hub.ts");
  expect(files.length).toBeGreaterThan(150);
  const { nodeImports, dependencies } = await bundle(files);
  expect(nodeImports).toEqual([]);
  for (const name of ["hono", "zod", "jsonata", "@modelcontextprotocol/server"])
    expect(dependencies).toContain(name);
}, 120_000);

it("finds imports of Node builtins in a module and in its dependencies", async () => {
  const { nodeImports } = await bundle(["hosts/node/metrics.ts", "hosts/node/ports.ts"]);
  expect(nodeImports).toContain("hosts/node/ports.ts → node:crypto");
  expect(nodeImports.some((line) => line.startsWith("prom-client/"))).toBe(true);
}, 120_000);
