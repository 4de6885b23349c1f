import { Whoami } from '@runledger/contracts/http/api-keys';
import { apiCall } from '../api/api-call.ts';
import { readCliSettings } from '../api/cli-settings.ts';
import { checkedUrl, type Environment, LOCAL, readContexts, writeContexts } from '../api/connection.ts';
import { withBasePath } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { Screen } from '../command/screen.ts';
import { warnOfVariables } from './contexts.ts';

export interface LoginOptions {
  readonly url?: string;
  readonly name?: string;
}

/** What asks and stores. */
export interface LoginPlace {
  readonly env: Environment;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly screen: Screen;
}

/** Checks a key with a request, stores it with its server as a context, and makes that the current one. */
export const login = async (place: LoginPlace, { url, name }: LoginOptions): Promise<void> => {
  const { env, screen } = place;
  if (name !== undefined) checkName(name);
  const given = checkedUrl(await urlOf(place, url), 'The URL of the server');
  const { apiKey, source } = await keyOf(place);
  const connection = await withBasePath({ url: given, apiKey, source, deploymentId: null });
  const who = await apiCall(connection, screen.hint)(Whoami, { method: 'GET', path: '/whoami' });
  const context = name ?? new URL(connection.url).host;
  const { contexts } = await readContexts(env);
  const path = await writeContexts(env, {
    current: context,
    contexts: { ...contexts, [context]: { url: connection.url, api_key: apiKey } },
  });
  screen.result(
    { context, url: connection.url, file: path },
    ({ url: at }) =>
      `Logged in to ${at} as ${plain(who.user.name)} of ${plain(who.organisation.name)}, with the key ${plain(who.key.name)}.`,
  );
  if (!screen.isJson())
    screen.hint(`It is the context ${plain(context)}, which commands use from now on. Stored in ${path}.`);
  warnOfVariables(env, screen);
};

/** @throws CommandError */
const checkName = (name: string): void => {
  if (name === LOCAL)
    throw new CommandError(`The name ${LOCAL} stands for the standalone of this folder. Choose another one.`);
  if (!/^[\w.:-]{1,64}$/.test(name))
    throw new CommandError(
      `${plain(name)} cannot be the name of a context. Use up to 64 letters, digits, and the characters . : _ -`,
    );
};

const urlOf = async ({ env, screen }: LoginPlace, given: string | undefined): Promise<string> => {
  const url =
    given ??
    readCliSettings(env).RUNLEDGER_URL ??
    (await screen.ask('URL of the server, such as https://runledger.example.com/api: '))?.trim();
  if (url) return url;
  throw new CommandError(
    'No server was given. Add --url URL, such as --url https://runledger.example.com/api.',
  );
};

interface GivenKey {
  readonly apiKey: string;
  readonly source: string;
}

/** Never from an argument: others on the machine see those, and shells remember them. */
const keyOf = async ({ env, stdin, screen }: LoginPlace): Promise<GivenKey> => {
  const { RUNLEDGER_API_KEY: variable } = readCliSettings(env);
  if (variable !== undefined) return { apiKey: variable, source: 'RUNLEDGER_API_KEY' };
  const typed = await screen.ask('API key (it is not shown): ', { hidden: true });
  const apiKey = (typed ?? (await firstLine(stdin))).trim();
  if (/^[\x21-\x7E]+$/.test(apiKey))
    return { apiKey, source: typed === undefined ? 'standard input' : 'your input' };
  throw new CommandError(
    apiKey === ''
      ? 'No API key was given. Type it when asked, write it to standard input, or set RUNLEDGER_API_KEY.'
      : 'The API key has characters that no key has. Copy it again.',
  );
};

/** A key is shorter. */
const MAX_KEY_BYTES = 1_024;

const firstLine = async (stdin: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = '';
  for await (const piece of stdin) {
    text += Buffer.from(piece).toString('latin1');
    if (text.includes('\n') || text.length > MAX_KEY_BYTES) break;
  }
  const [line = ''] = text.split('\n');
  if (line.length <= MAX_KEY_BYTES) return line;
  throw new CommandError('Standard input has more than an API key. Write the key alone to it.');
};
