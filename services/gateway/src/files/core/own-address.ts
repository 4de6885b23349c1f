/** Where clients find files at this installation. */
export interface OwnAddresses {
  /** Without a slash at the end. */
  readonly origin: string;
  /** Of the API, with its base path. */
  readonly api: string;
}

/** What an address at this installation is the address of. */
export type OwnAddress =
  | { readonly kind: 'file'; readonly id: string }
  | {
      readonly kind: 'output';
      readonly key: string;
      readonly filename: string;
      readonly query: { readonly expires?: string; readonly signature?: string };
    };

const FILE = /^\/files\/([0-9a-f-]{36})\/content$/;
const OUTPUT = /^\/outputs\/([^/?]+)\/([^/?]+)(?:\?(.*))?$/;

/** Undefined for any other address. */
export const readOwnAddress = (url: string, { origin, api }: OwnAddresses): OwnAddress | undefined => {
  const id = behind(url, api, FILE)?.[1];
  if (id !== undefined) return { kind: 'file', id };
  const [, key, filename, query = ''] = behind(url, origin, OUTPUT) ?? [];
  if (key === undefined || filename === undefined) return undefined;
  try {
    return {
      kind: 'output',
      key,
      filename: decodeURIComponent(filename),
      query: Object.fromEntries(new URLSearchParams(query)),
    };
  } catch {
    return undefined;
  }
};

const behind = (url: string, beginning: string, form: RegExp): RegExpExecArray | null =>
  url.startsWith(beginning) ? form.exec(url.slice(beginning.length)) : null;
