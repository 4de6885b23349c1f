import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import send from 'send';
import type { RunnerWork } from '../runner.ts';

/** The input files of one run, which a model server on this machine can fetch by URL until it is disposed. */
export interface ServedInputs extends AsyncDisposable {
  /** The URL of a file of the input folder, by its name there. It ends in the name of the file. */
  urlOf(name: string): string;
  /** Whether anybody has asked for this file, or for any without a name: a server that has a network of its own cannot. */
  wasAsked(name?: string): boolean;
}

/** A server that reads nothing for this time is disconnected. */
const STALLED_MS = 60_000;

/**
 * Serves files of the input folder of a run on the loopback of this machine, by GET and HEAD, also in parts. Only who knows a URL gets a file:
 * it has 256 bits that nobody can guess, and the server of this run knows none of another one.
 */
export const serveInputs = async (inputDir: string, names: Iterable<string>): Promise<ServedInputs> => {
  const secret = randomBytes(32).toString('base64url');
  const byPath = new Map([...names].map((name) => [pathOf(secret, name), name]));
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const name = byPath.get(request.url?.split('?', 1)[0] ?? '');
    if (name === undefined) return refuse(response, 404);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return refuse(response, 405, { Allow: 'GET, HEAD' });
    asked.add(name);
    sendFile(request, response, inputDir, name);
  });
  server.setTimeout(STALLED_MS);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server of inputs has no port.');
  const { port } = address;
  return {
    urlOf: (name) => `http://127.0.0.1:${port}${pathOf(secret, name)}`,
    wasAsked: (name) => (name === undefined ? asked.size > 0 : asked.has(name)),
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

const pathOf = (secret: string, name: string): string => `/${secret}/${encoded(name)}`;

/** A file of a list has a folder before its name. */
const encoded = (name: string): string => name.split('/').map(encodeURIComponent).join('/');

const sendFile = (
  request: IncomingMessage,
  response: ServerResponse,
  inputDir: string,
  name: string,
): void => {
  response.setHeader('Cache-Control', 'no-store');
  const options = { root: inputDir, dotfiles: 'allow', index: false, cacheControl: false } as const;
  send(request, `/${encoded(name)}`, options)
    .on('error', ({ status }: { readonly status?: number }) => refuse(response, status ?? 500))
    .pipe(response);
};

const refuse = (
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): void => {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { ...headers, 'Content-Length': 0 }).end();
};

/** The files of an input: their names in the input folder, in the order of the input. */
export interface FilesOfInput {
  readonly names: readonly string[];
  /** It is a list of files, also with one or none. */
  readonly isList: boolean;
}

/** The inputs of a run that are files, as their definitions say: a text that is the name of a file stays a text. */
export const inputFiles = ({ inputs, fileInputs }: RunnerWork): ReadonlyMap<string, FilesOfInput> =>
  new Map(fileInputs.map((input) => [input, filesOf(inputs[input])]));

const filesOf = (value: unknown): FilesOfInput => {
  const isList = Array.isArray(value);
  const values: readonly unknown[] = isList ? value : [value];
  return { names: values.filter((name) => typeof name === 'string'), isList };
};
