/** A short secret can be found by brute force: every guess can be checked with one signed body. */
export const MIN_SECRET_LENGTH = 12;

export const isShortSecret = (secret: string): boolean => secret.length < MIN_SECRET_LENGTH;

export const SHORT_SECRET = `must have at least ${MIN_SECRET_LENGTH} characters, since a short secret can be guessed. Create one with: openssl rand -hex 32`;
