import { join } from 'node:path';
import type { RecordAsOperator } from '@runledger/event-log/streams/record-action';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Command } from 'commander';
import { ApiError } from '@runledger/client/source';
import { type ExitCode, CommandError, EXIT } from './command-error.ts';
import type { Screen } from './screen.ts';
import { apiCall, type ApiCall, send } from '../api/api-call.ts';
import { type ApiConnection, findConnection, type Environment } from '../api/connection.ts';
import { jsonFiles, type FileSources, type ReadJsonFile } from './option-values.ts';
import { explainNoAnswer } from '../api/api-problem.ts';
import { whenLate } from '../api/node-fetch.ts';

/** What commands use that read the log. */
export interface Operator {
  readonly log: EventLog;
  readonly screen: Screen;
  readonly record: RecordAsOperator;
}

/** What the registration of a command needs. */
export interface CommandContext {
  readonly client: () => Promise<Client>;
  /** An action of a command that calls the API. A code that it returns is that of the program. */
  readonly withClient: <Given extends unknown[]>(
    use: (client: Client, ...given: Given) => Promise<ExitCode | void>,
  ) => (...given: Given) => Promise<void>;
  /** The same for a command whose first argument is a run: its id, or the beginning of one. */
  readonly withRun: <Given extends unknown[]>(
    use: (client: Client, run: string, ...given: Given) => Promise<ExitCode | void>,
  ) => (run: string, ...given: Given) => Promise<void>;
  /** Opens the log with the operator's credentials, and closes it after use. */
  readonly asOperator: <Result>(use: (operator: Operator) => Promise<Result>) => Promise<Result>;
  readonly screen: Screen;
  /** For a result that is not text. */
  readonly stdout: NodeJS.WritableStream;
  readonly untilInterrupted: () => AbortSignal;
  readonly end: (code: ExitCode) => void;
  /** A command with `--json`. */
  readonly add: (parent: Command, name: string, description: string) => Command;
}

/** What commands use that call the run API. */
export interface Client {
  readonly connection: ApiConnection;
  readonly call: ApiCall;
  readonly screen: Screen;
  readonly readJsonFile: ReadJsonFile;
  /** Paths of files are relative to it. */
  readonly cwd: string;
  /** For what can be made again; undefined when the environment names none. */
  readonly cacheFolder: string | undefined;
}

const openClient = (
  connection: ApiConnection,
  screen: Screen,
  env: Environment,
  files: FileSources,
): Client => ({
  connection,
  call: apiCall(connection, screen.hint),
  screen,
  readJsonFile: jsonFiles(files),
  cwd: files.cwd,
  cacheFolder: cacheFolderIn(env),
});

export const cacheFolderIn = ({ XDG_CACHE_HOME, HOME }: Environment): string | undefined => {
  const folder = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'));
  return folder ? join(folder, 'runledger') : undefined;
};

const AUDIT_LOST =
  'The audit record of this command could not be stored. Look whether the broker is available and its disk has room.';

export interface Surroundings extends FileSources {
  readonly env: Environment;
  readonly screen: Screen;
}

/** How commands reach the API and the log. `contextName`: what `--context` names, if it was given. */
export const connecting = (
  { env, cwd, stdin, screen }: Surroundings,
  contextName: () => string | undefined,
): Pick<CommandContext, 'client' | 'asOperator'> => ({
  client: async () => {
    const found = await findConnection(env, cwd, contextName());
    const connection = await withBasePath(found);
    if (connection !== found)
      screen.hint(`${found.url} has no base path. Using ${connection.url}: set it instead.`);
    return openClient(connection, screen, env, { cwd, stdin });
  },
  asOperator: async (use) => {
    if (contextName() !== undefined)
      throw new CommandError(
        '--context names a server of the API, and this command uses the broker. Leave it out, and set RUNLEDGER_NATS_URL instead.',
      );
    // Clients of the API need nothing of the log.
    const [{ openLogAsOperator }, { operatorRecorder }] = await Promise.all([
      import('../operators/open-log.ts'),
      import('@runledger/event-log/streams/record-action'),
    ]);
    await using log = await openLogAsOperator(env, cwd);
    return await use({ log, screen, record: operatorRecorder(log, () => screen.hint(AUDIT_LOST)) });
  },
});

/** The connection with `/api` behind its URL if a person forgot it. @throws CommandError without an answer */
export const withBasePath = async (connection: ApiConnection): Promise<ApiConnection> => {
  const completed = await forgottenBasePath(connection.url).catch((error: unknown) => {
    throw new CommandError(explainNoAnswer(connection, error));
  });
  return completed === undefined ? connection : { ...connection, url: completed };
};

const BASE_PATH = '/api';
const ANSWER_WITHIN_MS = 5_000;

/**
 * The URL of the API when this one has no path and the API is below `/api`, where it usually is; undefined otherwise. It sends no key.
 * Rejects without an answer.
 */
const forgottenBasePath = async (url: string): Promise<string | undefined> => {
  if (URL.parse(url)?.pathname !== '/') return undefined;
  const completed = `${url}${BASE_PATH}`;
  const abort = new AbortController();
  const late = new Error(`it sent nothing for ${ANSWER_WITHIN_MS / 1_000} s`);
  const inTime = whenLate(ANSWER_WITHIN_MS, () => abort.abort(late));
  try {
    const document = { method: 'GET', path: '/openapi.json' } as const;
    const response = await send({ url: completed, apiKey: null }, document, abort);
    const isDocument = /^application\/json\b/.test(response.headers.get('content-type') ?? '');
    return isDocument ? completed : undefined;
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  } finally {
    inTime();
    // Nobody reads the document.
    abort.abort();
  }
};

/** Executes what stops in order when it is interrupted. `what`: its result, which is not whole then. */
export const unlessInterrupted = async (
  { screen, untilInterrupted, end }: CommandContext,
  what: string,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const signal = untilInterrupted();
  try {
    await work(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    screen.hint(`Interrupted. The ${what} is not whole.`);
    end(EXIT.cancelled);
  }
};
