/** Where `/` leads, with the address of the gateway as clients know it. */
export interface HomeLinks {
  readonly version: string;
  /** With the base path. */
  readonly api: string;
  readonly reference: string;
  readonly openapi: string;
  /** Left out where the console is off. */
  readonly console?: string;
}

/** `consolePath`: undefined where the console is off. */
export const homeLinks = (
  publicUrl: string,
  basePath: string,
  version: string,
  consolePath: string | undefined,
): HomeLinks => {
  const api = `${publicUrl}${basePath}`;
  return {
    version,
    api,
    reference: `${api}/docs`,
    openapi: `${api}/openapi.json`,
    ...(consolePath !== undefined && { console: `${publicUrl}${consolePath}` }),
  };
};

/** As JSON, for a client that asks for it. */
export const homeDocument = (links: HomeLinks): Readonly<Record<string, string>> => ({
  name: 'Runledger',
  ...links,
});
