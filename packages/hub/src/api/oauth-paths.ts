/** The pages of the authorization server. */
export const AUTHORIZE = "/oauth/authorize";
export const DEVICE = "/oauth/device";
