import { isJsonObject } from '@runledger/contracts/json';
import { locateCommand, readCommand, type OperatorCommand } from '../../runners/operator-command.ts';

/** A model server in the settings of the executor. */
export interface ServerEntry {
  /** Where it listens; ends with a slash. */
  readonly url: URL;
  /** The executor starts and stops it; null for a server that runs anyway. */
  readonly command: OperatorCommand | null;
}

/** The entry, or what is wrong with it, after the name of the server. Its command is found, so that a run does not find it missing. */
export const readServerEntry = async (entry: unknown, path: string): Promise<ServerEntry | string> => {
  if (!isJsonObject(entry)) return 'which is not an object';
  const url = readUrl(entry['url']);
  if (url === undefined) return 'whose url is not an absolute http or https URL without credentials';
  if (entry['command'] === undefined) return { url, command: null };
  const given = readCommand(entry);
  if (typeof given !== 'string' && (given.network ?? 'host') !== 'host')
    return 'whose network can only be host: the executor reaches it at a port of the machine';
  const command = typeof given === 'string' ? given : await locateCommand(given, path);
  return typeof command === 'string' ? command : { url, command };
};

const readUrl = (text: unknown): URL | undefined => {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return undefined;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined;
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
};
