/** Where `/` leads, with the address of the gateway as clients know it. */
export interface HomeLinks {
  readonly version: string;
  /** With the base path. */
  readonly api: string;
  readonly reference: string;
  readonly openapi: string;
}

export const homeLinks = (publicUrl: string, basePath: string, version: string): HomeLinks => {
  const api = `${publicUrl}${basePath}`;
  return { version, api, reference: `${api}/docs`, openapi: `${api}/openapi.json` };
};

/** As JSON, for a client that asks for it. */
export const homeDocument = (links: HomeLinks): Readonly<Record<string, string>> => ({
  name: 'Runledger',
  ...links,
});
