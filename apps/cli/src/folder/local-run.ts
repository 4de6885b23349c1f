import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { getuid } from 'node:process';
import { parseEnv } from 'node:util';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import {
  inputTargets,
  isFileInputType,
  type WorkflowInput,
} from '@runledger/contracts/catalogue/workflow-inputs';
import { coldStartWords } from '@runledger/contracts/events/fact-sentence';
import type { NewInputDefinition } from '@runledger/contracts/http/catalogue/workflows';
import type { JsonObject } from '@runledger/contracts/json';
import { newUuid } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import type { LocalExecutor, LocalResult } from '@runledger/gpu-executor/run-local';
import { cacheFolderIn, type Surroundings } from '../command/command-context.ts';
import { CommandError, EXIT, plain, type ExitCode } from '../command/command-error.ts';
import { jsonFiles } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';
import { checkFile } from '../runs/files.ts';
import { givenInputs } from '../runs/run-inputs.ts';
import { readFolderConfig, type FolderConfig } from './config.ts';
import { packedFolder } from './deployed-folder.ts';
import type { LocalRunOptions } from './run-command.ts';

/** Executes a folder here, and prints its outputs. @throws CommandError */
export const runLocally = async (
  folder: string,
  options: LocalRunOptions,
  { env, cwd, stdin, screen }: Surroundings,
  stop: AbortSignal,
): Promise<ExitCode> => {
  const config = await readFolderConfig(folder);
  const reader = { screen, readJsonFile: jsonFiles({ cwd, stdin }), cacheFolder: cacheFolderIn(env) };
  const { inputs: requested, archive, weights, ...packed } = await packedFolder(reader, folder, config);
  const manifest: CodeManifest = { code_sha256: archive.sha256, ...packed.manifest };
  const secrets = await secretsOf(folder, config, env);
  const files = new Map<string, string>();
  const sources = {
    readJsonFile: reader.readJsonFile,
    fileId: async (name: string): Promise<string> => {
      const [id, path] = [newUuid(), resolve(cwd, name)];
      await checkFile(path, name);
      files.set(id, path);
      return id;
    },
  };
  const types = new Map(requested.map(({ name, type }) => [name, type]));
  const given = ((await givenInputs(options, sources, async () => types)) ?? {}) as JsonObject;
  const { inputs, definitions } = await checkedInputs(screen, {
    requested,
    given,
    manifest,
    file: config.file,
  });
  await using open = new AsyncDisposableStack();
  const executor = await opened(open, { env, screen, config });
  if (executor.weakness !== null) screen.hint(`The code is held weakly here: ${executor.weakness}.`);
  const names = (isNamed: (input: WorkflowInput) => boolean): string[] =>
    definitions.filter((input) => isNamed(input) && inputs[input.name] !== undefined).map(({ name }) => name);
  const run = {
    manifest,
    archive: archive.bytes,
    inputs,
    fileInputs: names(({ type }) => isFileInputType(type)),
    secretInputs: names(({ secret }) => secret === true),
    inputTargets: inputTargets(definitions),
    files,
    secrets,
    models: new Map(weights.map(({ sha256, file }) => [sha256, file])),
    outputDir: resolve(cwd, options.output),
  };
  const ended = await executor.run(run, observing(screen), stop);
  return shown(screen, ended);
};

/** Of this machine: a variable of `[secrets]` is one of the caller, or of the file `.env` in the folder. @throws CommandError that names those without a value */
const secretsOf = async (
  folder: string,
  { file, manifest: { secrets = {} } }: FolderConfig,
  env: Surroundings['env'],
): Promise<Record<string, string>> => {
  const variables = Object.keys(secrets);
  if (variables.length === 0) return {};
  const text = await readFile(join(folder, ENV_FILE), 'utf8').catch(() => '');
  const values = { ...parseEnv(text), ...env };
  const missing = variables.filter((variable) => !values[variable]);
  if (missing.length === 0)
    return Object.fromEntries(variables.map((variable) => [variable, values[variable] ?? '']));
  throw new CommandError(
    `${file} has secrets without a value here: ${plain(missing.join(', '))}. Set ${missing.length === 1 ? 'this variable' : 'these variables'}, or write NAME=value into ${ENV_FILE} of the folder, which is never deployed.`,
  );
};

const ENV_FILE = '.env';

interface GivenInputs {
  readonly requested: readonly NewInputDefinition[];
  readonly given: JsonObject;
  readonly manifest: CodeManifest;
  /** Which has the definitions, or names what has them. */
  readonly file: string;
}

/** As a gateway checks definitions when a version is made, and inputs when a run is queued. @throws CommandError with all that is wrong */
const checkedInputs = async (
  screen: Screen,
  { requested, given, manifest, file }: GivenInputs,
): Promise<{ readonly inputs: JsonObject; readonly definitions: readonly WorkflowInput[] }> => {
  const [{ definitionProblems, inputDefinitions }, { fitInputs }, { invalidInputs, unknownInputs }] =
    await Promise.all([
      import('@runledger/gateway/records/catalogue/input-definitions.decide'),
      import('@runledger/gateway/records/catalogue/input-values.decide'),
      import('@runledger/gateway/runs/facts/check-inputs'),
    ]);
  const wrong = definitionProblems(requested.entries(), manifest).map(
    ({ index, member, why }) => `  ${plain(requested[index]?.name ?? '')}.${member}: ${plain(why)}`,
  );
  if (wrong.length > 0)
    throw new CommandError([`The inputs of ${file} cannot be used:`, ...wrong].join('\n'));
  const definitions = inputDefinitions(requested);
  const { randomInt } = await import('node:crypto');
  const fitted = fitInputs(definitions, given, ({ lowest, highest }) =>
    randomInt(lowest, Math.min(highest, lowest + MOST_DRAWN) + 1),
  );
  if (fitted.kind === 'wrong')
    throw new CommandError(
      [
        'The inputs do not fit:',
        ...invalidInputs(fitted.wrong).map(
          ({ loc, msg }) => `  ${plain(loc.slice(2).join('.'))}: ${plain(msg)}`,
        ),
      ].join('\n'),
    );
  for (const { name } of unknownInputs(definitions, given))
    screen.hint(`The function has no input ${plain(name)}; it is passed on.`);
  return { inputs: fitted.inputs, definitions };
};

/** What Node draws at once. */
const MOST_DRAWN = 2 ** 48 - 2;

/** Where what versions need stays, so that a second run is quick. Another user than root has no way into the home folder of root. */
const cacheFolder = (env: Surroundings['env']): string =>
  join(
    env['XDG_CACHE_HOME'] || (getuid?.() === 0 ? '/var/cache' : join(env['HOME'] ?? homedir(), '.cache')),
    'runledger',
    'run-local',
  );

const opened = async (
  open: AsyncDisposableStack,
  {
    env,
    screen,
    config: { gpu, manifest },
  }: { readonly env: Surroundings['env']; readonly screen: Screen; readonly config: FolderConfig },
): Promise<LocalExecutor> => {
  // Of the executor: no other command loads it.
  const [{ openLocalExecutor, WorkFolderInUse }, { uvToDownload, findUv }, { ConfigError }] =
    await Promise.all([
      import('@runledger/gpu-executor/run-local'),
      import('@runledger/local-servers/find-uv'),
      import('@runledger/service-kit/config'),
    ]);
  const installs = manifest.requirements !== undefined || manifest.python !== undefined;
  const uv = env['EXECUTOR_UV'] ?? (installs ? await uvToDownload(env) : undefined);
  if (uv !== undefined && env['EXECUTOR_UV'] === undefined) await findUv(env, screen.hint);
  try {
    return await openLocalExecutor(
      {
        env: { ...env, ...(uv === undefined ? {} : { EXECUTOR_UV: uv }) },
        workFolder: cacheFolder(env),
        onCpu: gpu === 'CPU',
        log: silentLogger,
      },
      open,
    );
  } catch (error) {
    if (error instanceof WorkFolderInUse)
      throw new CommandError(
        `Another local run goes on, and uses ${plain(cacheFolder(env))}. Wait for its end, or give this one a folder of its own with XDG_CACHE_HOME.`,
      );
    if (error instanceof ConfigError) throw new CommandError(error.message);
    throw error;
  }
};

/** What it writes goes beside the result, as it is written. */
const observing = (screen: Screen): Parameters<LocalExecutor['run']>[1] => ({
  log: ({ line }) => screen.hint(plain(line)),
  progress: ({ progress, live_status }) => {
    const words = [
      ...(progress > 0 ? [`${Math.floor(progress * 100)} %`] : []),
      ...(live_status ? [live_status] : []),
    ];
    screen.redraw(plain(words.join(' ')));
  },
});

const shown = (screen: Screen, { result, files, coldStart }: LocalResult): ExitCode => {
  screen.redraw();
  const warnings = result.outcome === 'succeeded' ? (result.warnings ?? []) : [];
  for (const { message } of warnings) screen.hint(plain(message));
  const data = result.outcome === 'succeeded' ? result.data : {};
  const error =
    result.outcome === 'failed'
      ? result.error
      : result.outcome === 'not_runnable'
        ? { kind: 'not_runnable', message: result.why }
        : null;
  const status = STATUS[result.outcome];
  screen.result(
    {
      status,
      error: error && { kind: error.kind, message: error.message },
      data,
      files,
      ...coldStart,
    },
    () => [...Object.values(data).flat(), ...files],
  );
  if (coldStart?.cold_start_parts_s !== undefined)
    screen.hint(
      `It began after ${coldStart.cold_start_s} s of preparing: ${coldStartWords(coldStart.cold_start_parts_s)}.`,
    );
  if (error !== null) screen.hint(`${error.kind}: ${error.message}`);
  return EXIT_OF[result.outcome];
};

const STATUS = {
  succeeded: 'success',
  failed: 'failed',
  not_runnable: 'failed',
  cancelled: 'cancelled',
} as const;
const EXIT_OF = {
  succeeded: EXIT.done,
  failed: EXIT.negative,
  not_runnable: EXIT.negative,
  cancelled: EXIT.cancelled,
} as const;
