/** Memoizes `load`. `loaded` is its promise, undefined before the first call. */
export function once<Loaded>(load: () => Promise<Loaded>) {
  const loadOnce = () => {
    loadOnce.loaded ??= load();
    return loadOnce.loaded;
  };
  loadOnce.loaded = undefined as Promise<Loaded> | undefined;
  return loadOnce;
}
