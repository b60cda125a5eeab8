/** The environment variable with the secrets of a source. */
export const secretVariable = (source: string): string =>
  `${source.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`;
