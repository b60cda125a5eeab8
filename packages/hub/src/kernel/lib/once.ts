/**
 * Memoizes `load`. The property `loaded` of the returned function is the promise of the first call, or
 * undefined before it.
 */
export function once<Loaded>(load: () => Promise<Loaded>) {
  const loadOnce = () => {
    loadOnce.loaded ??= load();
    return loadOnce.loaded;
  };
  loadOnce.loaded = undefined as Promise<Loaded> | undefined;
  return loadOnce;
}
