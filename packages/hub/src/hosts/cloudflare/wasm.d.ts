/** Bundlers for Workers import a `.wasm` file as a compiled module. */
declare module "@jitl/quickjs-wasmfile-release-sync/wasm" {
  const engine: WebAssembly.Module;
  export default engine;
}
