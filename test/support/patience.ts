/** How long tests wait for a condition. Generous, because the machine may be busy. */
export const PATIENCE_MS = 60_000;
