/** scanner.as.ts → WebAssembly → scan-module.ts. Run as a script, it writes the file. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

const source = new URL("./scanner.as.ts", import.meta.url);
export const target = new URL("./scan-module.ts", import.meta.url);

const flags =
  "-O3 --converge --noAssert --runtime stub --initialMemory 35 --maximumMemory 35 --enable simd";

export async function compileScanner(): Promise<string> {
  const text = await readFile(source, "utf8");
  let module: Uint8Array | undefined;
  const { error, stderr } = await asc.main(
    ["scanner.ts", "--outFile", "scanner.wasm", ...flags.split(" ")],
    {
      readFile: (name) => (name === "scanner.ts" ? text : null),
      writeFile: (_name, contents) => {
        module = contents as Uint8Array;
      },
      listFiles: () => [],
    },
  );
  if (error || !module)
    throw new Error(`scanner.as.ts does not compile:\n${stderr}`, { cause: error });
  return [
    "/** Made by `npm run build:scan -w signalbox` from scanner.as.ts. */",
    "export const scanModule =",
    `  "${Buffer.from(module).toString("base64")}";`,
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(target, await compileScanner());
